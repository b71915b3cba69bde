// What a plan makes of weights alone: one piece of memory for each set of weights (addresses, shapes, strides) that
// launches bring, filled once. So a plan may serve all layers of a model. Finding a set takes no lock.
#pragma once

#include <atomic>
#include <functional>
#include <vector>

#include "runtime/plan_memory.h"

namespace coda {

class KeptTensors {
 public:
  explicit KeptTensors(std::vector<int> weights) : weights_(std::move(weights)) {}
  ~KeptTensors();

  /// The memory for these arguments' weights, if it is filled.
  void* find(std::span<const Argument> arguments) const;
  /// find(), or else allocates `bytes`, calls `fill` with them, and remembers them if it succeeds.
  Expected<void*> make(std::span<const Argument> arguments, int64_t bytes, PlanMemory& memory,
                       const std::function<Status(void*)>& fill);
  /// What is there has to be filled again.
  void expire() { ++generation_; }

 private:
  struct Set;
  Set* find_set(std::span<const Argument> arguments) const;

  std::vector<int> weights_;  ///< parameters that tell the sets apart
  std::atomic<Set*> head_{nullptr};
  std::atomic<uint64_t> generation_{1};
  std::mutex making_;
};

}  // namespace coda
