// Nodes as short expressions, for messages and reports: "x*gain", "sum((x @ w.T)**2, over = N)". As the language writes
// them, but for parts, which have no expression there: `z[0:F]` is the first F elements of a dimension, `z[1::2]` the
// odd ones, and `join(a, b)` puts parts side by side.
#pragma once

#include <map>
#include <string>

#include "compiler/ir/graph.h"

namespace coda {

/// What values are called: they are shown by name.
using NodeNames = std::map<NodeId, std::string>;

/// At most 80 characters; what is longer ends in `…`.
std::string describe(const Program& program, const Graph& graph, NodeId node);
/// However long.
std::string describe_whole(const Program& program, const Graph& graph, NodeId node, const NodeNames& names);

/// `span` if it is in the program's own file, else `otherwise`: users are shown their code, not the prelude's.
Span own_span(const Program& program, Span span, Span otherwise);
/// "`a`, `b` and `c`"
std::string name_list(const std::vector<std::string>& names);

}  // namespace coda
