// Reads of parameters in the epilogue. Neighbouring elements that a thread needs are read at once where the launch
// found the memory aligned, and ahead of their use: what is known from the tile's start is placed some slices earlier,
// so that the latency is hidden and registers are held only for a while.
#pragma once

#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include "compiler/codegen/nvptx_ops.h"
#include "compiler/codegen/sm90_region.h"

namespace coda {

/// A condition under which `elements` neighbours from `start` (on the last axis of `param`) can be moved at once in
/// every thread and tile of the region; nothing if no launch could fulfil it.
std::optional<ConditionSpec> sm90_wide_condition(const Sm90Region& region, int param, const Coord& start, int elements);

/// How many elements side by side a thread may move at once from `last`, an index on the last axis: a power of two of
/// at most 16 bytes. `per_slot` receives how many column slots lie between neighbours.
int sm90_unit_elements(const Sm90Region& region, const Coord& last, int element_bytes, int* per_slot);

class Sm90Loads {
 public:
  explicit Sm90Loads(Sm90Region& region) : r_(region) {}
  Val load(int param, std::span<const Coord> index, Val predicate, EpilogueEvaluator& evaluator);
  /// Forgets what depends on columns: it is read again rather than kept in registers.
  void next_span() { by_column_.clear(); }

 private:
  /// Neighbouring elements as they were read: packed into words, or one value each.
  struct Run {
    std::vector<Val> values;
    bool packed = false;
  };
  using Cache = std::unordered_map<ElementKey, Run, ElementKeyHash>;

  /// The slice at whose start `words` words are read for the current one.
  int earliest_place(int words);
  Run read(int param, std::span<const Coord> index, int elements, int per_slot, int element, bool by_column,
           EpilogueEvaluator* evaluator);
  Val element(const Run& run, int index, DType dtype);

  Sm90Region& r_;
  Cache by_row_, by_column_;
  std::vector<int> ahead_;  ///< words on their way during each slice
};

/// Byte address of an element, the last axis' stride being 1; `value` computes a coordinate.
Val sm90_address(Sm90Context& context, int param, std::span<const Coord> index,
                 const std::function<Val(const Coord&)>& value);

}  // namespace coda
