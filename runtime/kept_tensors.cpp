#include "runtime/kept_tensors.h"

#include <utility>

#include "runtime/change.h"

namespace coda {

/// Sets are only ever added, at the head, so readers can walk the list while a writer adds.
struct KeptTensors::Set {
  std::vector<Argument> weights;
  std::shared_ptr<void> memory;
  std::atomic<uint64_t> generation{0};  ///< in which it was filled
  Set* next = nullptr;
};

KeptTensors::~KeptTensors() {
  for (Set* set = head_.load(); set;) delete std::exchange(set, set->next);
}

KeptTensors::Set* KeptTensors::find_set(std::span<const Argument> arguments) const {
  for (Set* set = head_.load(std::memory_order_acquire); set; set = set->next) {
    bool all = true;
    for (size_t i = 0; i < weights_.size() && all; ++i) {
      all = change(set->weights[i], arguments[static_cast<size_t>(weights_[i])]) == Change::None;
    }
    if (all) return set;
  }
  return nullptr;
}

void* KeptTensors::find(std::span<const Argument> arguments) const {
  const Set* set = find_set(arguments);
  return set && set->generation.load(std::memory_order_acquire) == generation_.load() ? set->memory.get() : nullptr;
}

Expected<void*> KeptTensors::make(std::span<const Argument> arguments, int64_t bytes, PlanMemory& memory,
                                  const std::function<Status(void*)>& fill) {
  const std::lock_guard lock(making_);
  if (void* made = find(arguments)) return made;  // another thread was faster
  const uint64_t generation = generation_.load();
  if (Set* stale = find_set(arguments)) {
    if (Status status = fill(stale->memory.get()); !status.ok()) return status;
    stale->generation.store(generation, std::memory_order_release);
    return stale->memory.get();
  }
  auto kept = memory.keep(std::max<int64_t>(bytes, 1));
  if (!kept) return kept.status();
  if (Status status = fill(kept->get()); !status.ok()) return status;
  Set* set = new Set;
  for (const int weight : weights_) set->weights.push_back(arguments[static_cast<size_t>(weight)]);
  set->memory = std::move(*kept);
  set->generation = generation;
  set->next = head_.load();
  head_.store(set, std::memory_order_release);
  return set->memory.get();
}

}  // namespace coda
