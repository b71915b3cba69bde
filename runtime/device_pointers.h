// Whether the addresses of a launch are memory of its device.
#pragma once

#include "runtime/bind.h"
#include "runtime/device.h"

namespace coda {

class DevicePointers {
 public:
  /// Reads once whether checks are wanted at all.
  explicit DevicePointers(const Device& device);

  /// The device's context must be current. What is where an argument of `before` was is not asked about again; there
  /// are none, or as many, of the same form.
  Status check(const Signature& signature, std::span<const Argument> arguments,
               std::span<const Argument> before = {}) const;
  Status check(const std::string& name, const void* data) const;

 private:
  const Device& device_;
  bool wanted_;
};

}  // namespace coda
