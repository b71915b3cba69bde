// The rules of the tensor IR as a table. The graph's constructors keep them; a pass that builds nodes otherwise, or a
// reader of text, checks them here.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/graph.h"

namespace coda {

struct NodeRule {
  std::string_view name;
  /// May be checked before the node is in a graph: it concerns the arguments and attributes, not the computed result.
  bool concerns_arguments;
  /// What is wrong, or nothing. Rules after the first ones may rely on those before them.
  std::optional<std::string> (*violation)(const Graph& graph, const Node& node);
};
std::span<const NodeRule> node_rules();

/// Why a node can't be built from these arguments and attributes: the first rule broken, as text.
std::optional<std::string> argument_violation(const Graph& graph, const Node& node);
/// The first rule that a node of a graph, with its dimensions and class, breaks.
std::optional<std::string> node_violation(const Graph& graph, const Node& node);

/// All violations of a program: of its nodes, of its parameters and of its outputs. Empty if it is sound.
std::vector<std::string> verify(const Program& program);

}  // namespace coda
