// What a plan needs of the place where it runs besides its kernels: memory, and waiting.
#pragma once

#include <memory>
#include <mutex>

#include "runtime/kernel.h"

namespace coda {

class PlanMemory {
 public:
  virtual ~PlanMemory() = default;
  /// Held during a launch where launches can't overlap.
  virtual std::unique_lock<std::mutex> hold() = 0;
  /// Whether the caller's memory may be used from here; `before` as in DevicePointers::check().
  virtual Status check(const Signature& signature, std::span<const Argument> arguments,
                       std::span<const Argument> before, Workspace workspace) = 0;
  /// Memory that work enqueued on `stream` may use, until more work is enqueued there.
  virtual Expected<void*> arena(void* stream, int64_t bytes) = 0;
  /// Memory for as long as the pointer lives.
  virtual Expected<std::shared_ptr<void>> keep(int64_t bytes) = 0;
  virtual Expected<bool> captured(void* stream) = 0;
  /// Returns when what has been enqueued is done.
  virtual Status wait(void* stream) = 0;
};

Expected<std::unique_ptr<PlanMemory>> host_plan_memory();
Expected<std::unique_ptr<PlanMemory>> cuda_plan_memory(int device);

}  // namespace coda
