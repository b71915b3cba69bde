// What a block's intermediate tensors are stored as where nothing says it.
#pragma once

#include <set>
#include <vector>

#include "compiler/ir/graph.h"

namespace coda {

/// The type of the outputs of 16 bits; where all outputs are scalars and vectors (losses, statistics), that of the
/// matrices of 16 bits that are read; else f32.
DType storage_type(const Program& program);

/// Of `nodes`, and what they are made of elementwise, the elements of reductions that count by distance: kept in f32,
/// if at all. Sums are not looked into: what is summed is rounded before it is an element.
std::set<NodeId> elements_by_distance(const Graph& graph, const std::vector<NodeId>& nodes);

}  // namespace coda
