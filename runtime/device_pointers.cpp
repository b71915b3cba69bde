#include "runtime/device_pointers.h"

#include "runtime/options.h"

namespace coda {

DevicePointers::DevicePointers(const Device& device)
    : device_(device), wanted_(option_number(Option::CheckPointers, 1) != 0) {}

Status DevicePointers::check(const Signature& signature, std::span<const Argument> arguments,
                             std::span<const Argument> before) const {
  for (size_t i = 0; wanted_ && i < arguments.size(); ++i) {
    const auto* view = std::get_if<TensorView>(&arguments[i]);
    if (!view) continue;
    if (!before.empty() && std::get<TensorView>(before[i]).data == view->data) continue;
    if (element_count(view->shape).value_or(0) == 0) continue;
    if (Status status = check(signature.params[i].name, view->data); !status.ok()) return status;
  }
  return {};
}

Status DevicePointers::check(const std::string& name, const void* data) const {
  if (!wanted_) return {};
  const Driver& cu = device_.cu();
  const auto address = reinterpret_cast<CuDevicePtr>(data);
  unsigned kind = 0;
  int ordinal = 0;
  int wanted[] = {kCuPointerMemoryType, kCuPointerDevice};
  void* values[] = {&kind, &ordinal};
  if (Status status = cu.cuPointerGetAttributes(2, wanted, values, address); !status.ok()) return status;
  if (kind == 0 || kind == kCuMemoryHost) {  // 0: nothing that CUDA knows
    return argument_error(name, "its address is not device memory, though it was said to be on CUDA device " +
                                    std::to_string(device_.ordinal()));
  }
  if (ordinal == device_.ordinal()) return {};
  return argument_error(name, "its address is memory of CUDA device " + std::to_string(ordinal) +
                                  ", expected of device " + std::to_string(device_.ordinal()));
}

}  // namespace coda
