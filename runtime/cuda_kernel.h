// Kernels on a CUDA device.
#pragma once

#include "runtime/device.h"
#include "runtime/kernel.h"

namespace coda {

/// Assembles the image's code if need be, and loads it.
Expected<std::unique_ptr<Kernel>> prepare_cuda(LaunchPlan plan, const Device& device);

}  // namespace coda
