// Where statistics wider than a tile keep their partial states: workspaces, arrival counters and shared scratch. Plain
// numbers. LLVM-free.
//
// A consumer's rows of a tile are a panel. Row states: one for each row and column tile. Column states: one for each
// panel and column. States over all: one for each panel and column tile. Every consumer that has written its partial
// states counts itself in; the last one of a panel (row), of a column tile (column), of all (all) finishes them in
// order and sets the counter back.
#pragma once

#include <vector>

#include "compiler/codegen/sm90_layout.h"
#include "runtime/format/kernel_image.h"

namespace coda {

struct Sm90StatLayout {
  std::vector<std::vector<int>> partials;                         ///< workspace of each statistic's parts
  int row_counters = -1, column_counters = -1, all_counter = -1;  ///< workspaces; -1: nothing of that scope

  bool has(StatScope scope) const { return counters(scope) >= 0; }
  int counters(StatScope scope) const {
    return scope == StatScope::Row ? row_counters : scope == StatScope::Column ? column_counters : all_counter;
  }
};

/// Bytes of shared memory in which one consumer's warps exchange the states of a statistic.
int sm90_exchange_bytes(const Statistic& statistic, int tile_n);
/// A consumer's arrival numbers, before its exchange areas.
inline constexpr int kSm90ArrivalBytes = 16;
/// Which of a consumer's arrival numbers says how many parts of a split depth are done; the scopes' come first.
inline constexpr int kSm90PartArrival = 3;
/// Bytes of shared scratch of one consumer: arrival numbers, and states on their way between warps.
int sm90_scratch_bytes(const EpilogueProgram& epilogue, const Sm90Schedule& schedule);
/// Adds the workspaces to the image.
Sm90StatLayout make_sm90_stat_layout(const EpilogueProgram& epilogue, const Sm90Plan& plan, const Dim& rows,
                                     KernelImage& image);

}  // namespace coda
