#include "runtime/dlpack.h"

#include <algorithm>
#include <cstdint>

namespace coda {

namespace {

struct ElementCode {
  DType dtype;
  uint8_t code, bits;
};
/// DLDataTypeCode: 0 signed, 1 unsigned, 2 IEEE 754, 4 bfloat, 6 bool, from 7 on the narrow floats of DLPack 1.1.
constexpr ElementCode kElements[] = {{DType::F32, 2, 32},  {DType::F16, 2, 16},  {DType::BF16, 4, 16},
                                     {DType::E4M3, 10, 8}, {DType::E5M2, 12, 8}, {DType::UE8M0, 14, 8},
                                     {DType::E2M1, 17, 4}, {DType::I64, 0, 64},  {DType::I32, 0, 32},
                                     {DType::I8, 0, 8},    {DType::U8, 1, 8},    {DType::Bool, 6, 8}};

constexpr int32_t kCpu = 1, kCuda = 2, kCudaHost = 3, kCudaManaged = 13;  // DLDeviceType

Status refused(const std::string& what) { return {Code::InvalidArgument, "DLPack tensor: " + what}; }

}  // namespace

Expected<TensorView> from_dlpack(const void* tensor) {
  if (tensor == nullptr) return refused("the pointer is null");
  const auto& t = *static_cast<const DlpackTensor*>(tensor);
  const auto element = std::find_if(std::begin(kElements), std::end(kElements),
                                    [&](const ElementCode& e) { return e.code == t.code && e.bits == t.bits; });
  if (element == std::end(kElements) || t.lanes != 1) {
    return refused("its type, of code " + std::to_string(t.code) + " with " + std::to_string(t.bits) + " bits and " +
                   std::to_string(t.lanes) + " lanes, is none of coda's");
  }
  TensorView view;
  view.dtype = element->dtype;
  if (t.device_type == kCuda || t.device_type == kCudaManaged) {
    if (t.device_id < 0) return refused("its CUDA device is " + std::to_string(t.device_id));
    view.device = t.device_id;
  } else if (t.device_type != kCpu && t.device_type != kCudaHost) {
    return refused("its device type is " + std::to_string(t.device_type) + "; 1 (CPU), 2, 3 and 13 (CUDA) are known");
  }
  if (t.rank < 0 || t.rank > kMaxRank) {
    return refused("it has " + std::to_string(t.rank) + " axes, at most " + std::to_string(kMaxRank) + " are possible");
  }
  if (t.rank > 0 && t.shape == nullptr) return refused("it has no shape");
  for (int32_t axis = 0; axis < t.rank; ++axis) {
    if (t.shape[axis] < 0)
      return refused("axis " + std::to_string(axis) + " has " + std::to_string(t.shape[axis]) + " elements");
    view.shape.push_back(t.shape[axis]);
    if (t.strides != nullptr) view.strides.push_back(t.strides[axis]);
  }
  if (t.strides == nullptr) view.strides = contiguous_strides(view.shape);
  if (t.data == nullptr && t.byte_offset != 0) return refused("it has an offset, but no memory");
  if (t.byte_offset > UINTPTR_MAX - reinterpret_cast<uintptr_t>(t.data)) {
    return refused("its offset of " + std::to_string(t.byte_offset) + " bytes leaves the address space");
  }
  view.data = static_cast<uint8_t*>(t.data) + t.byte_offset;
  return view;
}

DlpackTensor to_dlpack(const TensorView& view) {
  const auto element = std::find_if(std::begin(kElements), std::end(kElements),
                                    [&](const ElementCode& e) { return e.dtype == view.dtype; });
  const bool host = view.device == kHostDevice;
  return {.data = view.data,
          .device_type = host ? kCpu : kCuda,
          .device_id = host ? 0 : view.device,
          .rank = view.shape.size(),
          .code = element->code,
          .bits = element->bits,
          .lanes = 1,
          .shape = view.shape.begin(),
          .strides = view.strides.begin(),
          .byte_offset = 0};
}

}  // namespace coda
