// What constructors, verifier and evaluator must agree on: number classes of results and the order of f64 arithmetic.
#pragma once

#include <span>

#include "compiler/ir/graph.h"

namespace coda {

/// The class of a product or sum: Int if all arguments are Int (and there is one), else Real.
NumClass arithmetic_class(const Graph& graph, std::span<const NodeId> args);

/// The class that an op's arguments are brought to before it is evaluated or emitted, by position: a Select's condition
/// is Bool and stays out of it.
NumClass argument_class(const Graph& graph, const Op& op, std::span<const NodeId> args);
NumClass result_class(const Graph& graph, const Op& op, std::span<const NodeId> args);
/// Why the op does not take arguments of these classes; null if it does.
const char* class_error(const Graph& graph, const Op& op, std::span<const NodeId> args);

/// The f64 meaning of Apply: the op's, except that a whole number that would be infinite or NaN (division by 0) is 0.
double apply_op(const Op& op, std::span<const double> args, NumClass result);

/// The f64 meaning of Sum: terms are added in order, the first one not to zero.
double linear_combination(std::span<const double> values, std::span<const double> coefficients);

/// What a reduction of `body` lifts at an element: the parts of a pack, or the value itself.
std::vector<NodeId> lifted_parts(const Graph& graph, NodeId body);

}  // namespace coda
