#include "runtime/device_pointers.h"

#include "runtime/options.h"

namespace coda {

DevicePointers::DevicePointers(const Device& device)
    : device_(device), wanted_(option_number(Option::CheckPointers, 1) != 0) {}

Status DevicePointers::check(const Signature& signature, std::span<const Argument> arguments) const {
  for (size_t i = 0; wanted_ && i < arguments.size(); ++i) {
    const auto* view = std::get_if<TensorView>(&arguments[i]);
    if (!view || element_count(view->shape).value_or(0) == 0) continue;
    if (Status status = check(signature.params[i].name, view->data); !status.ok()) return status;
  }
  return {};
}

Status DevicePointers::check(const std::string& name, const void* data) const {
  if (!wanted_) return {};
  const Driver& cu = device_.cu();
  const auto address = reinterpret_cast<CuDevicePtr>(data);
  unsigned kind = 0;
  const CuResult result = cu.cuPointerGetAttribute.raw(&kind, kCuPointerMemoryType, address);
  if (result == kCuInvalidValue || kind == kCuMemoryHost) {
    return argument_error(name, "its address is not device memory, though it was said to be on CUDA device " +
                                    std::to_string(device_.ordinal()));
  }
  if (result != kCuSuccess) return cu.check(result, "cuPointerGetAttribute");
  int ordinal = 0;
  if (Status status = cu.cuPointerGetAttribute(&ordinal, kCuPointerDevice, address); !status.ok()) return status;
  if (ordinal == device_.ordinal()) return {};
  return argument_error(name, "its address is memory of CUDA device " + std::to_string(ordinal) +
                                  ", expected of device " + std::to_string(device_.ordinal()));
}

}  // namespace coda
