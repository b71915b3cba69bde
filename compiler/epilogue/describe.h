// Nodes as short expressions, for messages: "x*gain", "sum over N of z*z".
#pragma once

#include <string>

#include "compiler/ir/graph.h"

namespace coda {

std::string describe(const Program& program, const Graph& graph, NodeId node);
/// `span` if it is in the program's own file, else `otherwise`: users are shown their code, not the prelude's.
Span own_span(const Program& program, Span span, Span otherwise);
/// "`a`, `b` and `c`"
std::string name_list(const std::vector<std::string>& names);

}  // namespace coda
