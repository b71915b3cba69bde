// Nodes as short expressions, for messages: "x*gain", "sum over N of z*z".
#pragma once

#include <string>

#include "compiler/ir/graph.h"

namespace coda {

std::string describe(const Program& program, const Graph& graph, NodeId node);
/// "`a`, `b` and `c`"
std::string name_list(const std::vector<std::string>& names);

}  // namespace coda
