// What the planner did, as laws of the table: partials finished by later kernels, residuals in epilogues, values
// computed again, pairs and regions of one GEMM's columns.
#pragma once

#include "compiler/epilogue/describe.h"
#include "compiler/plan/storage.h"

namespace coda {

std::vector<LawEntry> planner_moves(const Algebra& algebra, const Hosting& hosting, const CostedPlan& costs);

/// Entries whose witness is in the cone of `roots` as lines for `explain`.
std::vector<LawUse> law_uses(const Program& block, const Graph& graph, const std::vector<LawEntry>& entries,
                             const std::vector<NodeId>& roots, const NodeNames& names);

}  // namespace coda
