// The device of null_cuda.cpp. Its memory is addresses alone.
#include <atomic>

#include "runtime/driver_types.h"

using namespace coda;

#define CODA_DRIVER(symbol, ...) extern "C" CuResult symbol(__VA_ARGS__);
#include "runtime/driver_table.def"

CuResult cuGetErrorName(CuResult, const char** name) {
  *name = "no error";
  return kCuSuccess;
}
CuResult cuGetErrorString(CuResult, const char** text) {
  *text = "no error";
  return kCuSuccess;
}
CuResult cuDeviceGetCount(int* count) {
  *count = 1;
  return kCuSuccess;
}
CuResult cuDeviceGetAttribute(int* value, int attribute, CuDevice) {
  constexpr int kAnswers[][2] = {
      {kCuAttributeMajor, 9}, {kCuAttributeMinor, 0}, {kCuAttributeSmCount, 132}, {kCuAttributeSharedOptin, 232448}};
  for (const auto& [known, answer] : kAnswers) {
    if (known == attribute) *value = answer;
  }
  return kCuSuccess;
}
CuResult cuCtxGetCurrent(CuContext* context) {
  *context = nullptr;
  return kCuSuccess;
}
CuResult cuDevicePrimaryCtxRetain(CuContext* context, CuDevice) {
  *context = nullptr;
  return kCuSuccess;
}
CuResult cuMemAlloc_v2(CuDevicePtr* address, size_t bytes) {
  static std::atomic<CuDevicePtr> next{CuDevicePtr{1} << 40};
  *address = next.fetch_add((bytes + 511) / 512 * 512);
  return kCuSuccess;
}
CuResult cuPointerGetAttributes(unsigned count, int* attributes, void** values, CuDevicePtr) {
  for (unsigned i = 0; i < count; ++i) {
    *static_cast<int*>(values[i]) = attributes[i] == kCuPointerMemoryType ? static_cast<int>(kCuMemoryDevice) : 0;
  }
  return kCuSuccess;
}
