// A launch with fixed arguments, recorded once and replayed: a CUDA graph that holds all kernels of a plan.
#pragma once

#include "runtime/kernel.h"

namespace coda {

/// Replays read and write the memory that the recorded arguments name. Replays of one recording must not overlap: it
/// has one workspace. The kernel must outlive it.
class Recording {
 public:
  virtual ~Recording() = default;
  Recording() = default;
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  virtual Status launch(void* stream) = 0;
};

/// Checks the arguments as a launch does, and folds weights. On the host a recording is the call itself, checked at
/// each launch.
Expected<std::unique_ptr<Recording>> record(Kernel& kernel, std::span<const Argument> arguments);

}  // namespace coda
