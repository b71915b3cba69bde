// PLACE: a light factor that stands outside a contraction may multiply the operand's producer instead, when it is
// finished before that kernel starts: what is stored is then the scaled value (bounded), and later kernels reload less.
#pragma once

#include "compiler/plan/hosting.h"

namespace coda {

/// Moves factors early until nothing moves. `moved` maps each contraction that took a factor in to what it was.
BlockValues place_early(Algebra& algebra, const Program& block, BlockValues values, const FoldChoice& fold,
                        const std::set<int>& late_params, std::map<NodeId, NodeId>& moved);

}  // namespace coda
