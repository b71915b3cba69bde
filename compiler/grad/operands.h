// The two operands of a contraction of several factors, as a matrix product has them.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "compiler/ir/graph.h"

namespace coda {

/// Factors by their output dimensions: activations first, which take the factors that have none (a norm's gain), so
/// that one product gives the gradient of all of them. Nothing if the contraction is no product of two such groups.
std::optional<std::array<std::vector<NodeId>, 2>> operand_groups(const Graph& graph, const Node& contraction);

}  // namespace coda
