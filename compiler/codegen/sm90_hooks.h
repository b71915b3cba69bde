// The evaluator's view of a tile on the GPU: accumulators are SSA values of this thread, parameters are read through
// Sm90Loads, and reductions inside the tile are shared by the quad.
#pragma once

#include <set>

#include "compiler/codegen/epilogue_eval.h"
#include "compiler/codegen/sm90_loads.h"
#include "compiler/codegen/sm90_probe.h"

namespace coda {

class Sm90Hooks final : public EvalHooks {
 public:
  Sm90Hooks(Sm90Region& region, Sm90Loads& loads, std::span<const Val> accumulators)
      : r_(region), loads_(loads), accumulators_(accumulators), steps_(region.context.epilogue) {}
  void set_evaluator(EpilogueEvaluator* evaluator) { evaluator_ = evaluator; }
  /// Column slots of accumulators asked for since it was last cleared.
  std::set<int> touched;

  Val variable(VarId variable) override { return r_.variable(variable); }
  Val extent(const Dim& value) override { return r_.context.arguments.extent(value); }
  Val scalar(int param) override;
  Val load(int param, std::span<const Coord> index, Val predicate) override;
  Val accumulator(const Coord& row, const Coord& column, Val predicate) override;
  Val reduce_in_tile(const TileReduction& request) override;
  bool is_whole(const Statistic&) override { return false; }
  Val statistic(const Statistic& statistic, const Env& env, Val predicate) override;

 private:
  Val needed_by_any(Val predicate, std::span<const int> shuffles);
  void reduce(const TileReduction& request, const Sm90Fragment::Share& share, Env& env, size_t axis, Val* state);

  Sm90Region& r_;
  Sm90Loads& loads_;
  std::span<const Val> accumulators_;
  Sm90Steps steps_;
  EpilogueEvaluator* evaluator_ = nullptr;
};

/// state = state combined with the same state of the lane whose number differs by `mask`.
void combine_lanes(NvptxBuilder& b, Emitter& emitter, const Reduction& reduction, int mask, Val* state);
/// A scalar parameter, in its number class.
Val sm90_scalar(Sm90Context& context, NvptxNumbers& numbers, int param);

}  // namespace coda
