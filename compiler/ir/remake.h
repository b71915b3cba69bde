// A node of one graph made again in another (or the same), with given arguments.
#pragma once

#include <vector>

#include "compiler/ir/graph.h"

namespace coda {

/// Through the plain constructors: no law is applied. `node` may belong to another graph; `args` are of `graph`.
NodeId remake(Graph& graph, const Node& node, std::vector<NodeId> args);

}  // namespace coda
