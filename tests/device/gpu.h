// The GPU of the tests of this folder.
#pragma once

#include <cstdio>

#include "runtime/device.h"

namespace coda::testing {

/// Nothing, after a message, where there is no GPU.
inline const Device* gpu() {
  auto device = Device::get(0);
  if (device) return *device;
  std::printf("skipped: no CUDA driver (%s)\n", device.status().message().c_str());
  return nullptr;
}

}  // namespace coda::testing
