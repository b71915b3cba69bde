// A settled hosting as a Plan: each kernel becomes a program of its own whose parameters are the tensors it reads and
// writes. A kernel sees nothing else, so what is missing shows at once.
#pragma once

#include "compiler/epilogue/describe.h"
#include "compiler/plan/storage.h"

namespace coda {

/// `names` become those of the values that the plan stores, too.
Plan emit_plan(Algebra& algebra, const Program& block, const BlockValues& values, const Hosting& hosting,
               const CostedPlan& costs, NodeNames& names);

/// Names kernels by their places, and says how long tensors live and what is rounded: once the kernels are final.
void settle_plan(Plan& plan);

}  // namespace coda
