// Reverse mode over the tensor IR: from the gradients of some values, those of the parameters they depend on. Every
// node kind has one rule; ops and reductions have theirs in their records.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "compiler/grad/simplify.h"

namespace coda {

struct Seed {
  NodeId value = kNoNode, gradient = kNoNode;
};

/// New nodes go into the program's graph, and names for the gradients of values that have one into its names. A
/// parameter in `wanted` that no seed's value depends on is left out of the result.
std::map<int, NodeId> parameter_gradients(Program& program, const std::vector<Seed>& seeds,
                                          const std::set<int>& wanted);

}  // namespace coda
