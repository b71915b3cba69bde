// The part of the CUDA driver's ABI that we use, so that building needs no CUDA toolkit. A test compares it with the
// real cuda.h where there is one.
#pragma once

#include <cstddef>
#include <cstdint>

namespace coda {

using CuResult = int;
using CuDevice = int;
using CuDevicePtr = unsigned long long;
using CuContext = struct CuContextTag*;
using CuModule = struct CuModuleTag*;
using CuFunction = struct CuFunctionTag*;
using CuStream = struct CuStreamTag*;
using CuEvent = struct CuEventTag*;
using CuGraph = struct CuGraphTag*;
using CuGraphExec = struct CuGraphExecTag*;
using CuGraphNode = struct CuGraphNodeTag*;

struct CuUuid {
  char bytes[16];
};
struct alignas(128) CuTensorMap {
  uint64_t opaque[16];
};
struct CuLaunchAttribute {
  int id;
  char unused[4];
  union {
    char bytes[64];
    int programmatic_stream_serialization;
  } value;
};
struct CuLaunchConfig {
  unsigned grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes;
  CuStream stream;
  CuLaunchAttribute* attributes;
  unsigned attribute_count;
};

// Names and values of cuda.h's enumerators: CODA_CUDA_CONSTANT(ours, theirs, value).
#define CODA_CUDA_CONSTANTS(X)                                                          \
  X(kCuSuccess, CUDA_SUCCESS, 0)                                                        \
  X(kCuInvalidValue, CUDA_ERROR_INVALID_VALUE, 1)                                       \
  X(kCuOutOfMemory, CUDA_ERROR_OUT_OF_MEMORY, 2)                                        \
  X(kCuNoDevice, CUDA_ERROR_NO_DEVICE, 100)                                             \
  X(kCuUnsupportedPtx, CUDA_ERROR_UNSUPPORTED_PTX_VERSION, 222)                         \
  X(kCuAttributeSmCount, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 16)                  \
  X(kCuAttributeMajor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 75)                \
  X(kCuAttributeMinor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 76)                \
  X(kCuAttributeSharedOptin, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 97) \
  X(kCuPointerMemoryType, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, 2)                          \
  X(kCuPointerDevice, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, 9)                           \
  X(kCuMemoryHost, CU_MEMORYTYPE_HOST, 1)                                               \
  X(kCuMemoryDevice, CU_MEMORYTYPE_DEVICE, 2)                                           \
  X(kCuFunctionMaxDynamicShared, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 8)    \
  X(kCuFunctionLocalBytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, 3)                       \
  X(kCuFunctionRegisters, CU_FUNC_ATTRIBUTE_NUM_REGS, 4)                                \
  X(kCuLaunchProgrammatic, CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, 6)    \
  X(kCuStreamNonBlocking, CU_STREAM_NON_BLOCKING, 1)                                    \
  X(kCuEventDefault, CU_EVENT_DEFAULT, 0)                                               \
  X(kCuCaptureNone, CU_STREAM_CAPTURE_STATUS_NONE, 0)                                   \
  X(kCuCaptureActive, CU_STREAM_CAPTURE_STATUS_ACTIVE, 1)                               \
  X(kCuCaptureRelaxed, CU_STREAM_CAPTURE_MODE_RELAXED, 2)                               \
  X(kCuCaptureThreadLocal, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, 1)                      \
  X(kCuTensorUint8, CU_TENSOR_MAP_DATA_TYPE_UINT8, 0)                                   \
  X(kCuTensorInt32, CU_TENSOR_MAP_DATA_TYPE_INT32, 3)                                   \
  X(kCuTensorInt64, CU_TENSOR_MAP_DATA_TYPE_INT64, 5)                                   \
  X(kCuTensorFloat16, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 6)                               \
  X(kCuTensorFloat32, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 7)                               \
  X(kCuTensorBfloat16, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 9)                             \
  X(kCuTensorInterleaveNone, CU_TENSOR_MAP_INTERLEAVE_NONE, 0)                          \
  X(kCuTensorSwizzleNone, CU_TENSOR_MAP_SWIZZLE_NONE, 0)                                \
  X(kCuTensorSwizzle128B, CU_TENSOR_MAP_SWIZZLE_128B, 3)                                \
  X(kCuTensorPromotion256B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B, 3)                      \
  X(kCuTensorFillZero, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE, 0)                            \
  X(kCuJitErrorLog, CU_JIT_ERROR_LOG_BUFFER, 5)                                         \
  X(kCuJitErrorLogBytes, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES, 6)

enum CuConstant : int {
#define CODA_CUDA_CONSTANT(ours, theirs, value) ours = value,
  CODA_CUDA_CONSTANTS(CODA_CUDA_CONSTANT)
#undef CODA_CUDA_CONSTANT
};

}  // namespace coda
