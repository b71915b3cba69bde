// Finds the widest order of B's columns under which every accumulator that a region's stores and statistics ask for
// lies in the thread that asks. Runs the evaluator on an emitter that emits nothing. LLVM-free.
#pragma once

#include <map>
#include <string>

#include "compiler/codegen/epilogue_eval.h"
#include "compiler/codegen/sm90_layout.h"

namespace coda {

/// Sets `width` (at most `widest`) of the region's plan; what was wrong with the last width tried if none will do.
std::string choose_column_width(const EpilogueProgram& epilogue, int region, const Dim& rows, int row_slots, int widest,
                                int cluster, Sm90RegionPlan& plan);

/// The same of any even width, where none of those will do: each thread has whole groups of a size that is no power of
/// two. False if there is none.
bool choose_uneven_width(const EpilogueProgram& epilogue, int region, const Dim& rows, int row_slots, int cluster,
                         Sm90RegionPlan& plan);

/// How many columns of the product lie between neighbours of what reductions in the tile run over: 2 where each is made
/// of a pair, say.
class Sm90Steps {
 public:
  explicit Sm90Steps(const EpilogueProgram& epilogue) : epilogue_(epilogue) {}
  int64_t of(const EvalHooks::TileReduction& request);

 private:
  const EpilogueProgram& epilogue_;
  std::map<NodeId, int64_t> known_;
};

}  // namespace coda
