#include "compiler/ir/meaning.h"

#include <algorithm>
#include <cmath>

namespace coda {

namespace {

bool all_of_class(const Graph& graph, std::span<const NodeId> args, NumClass num_class) {
  return std::all_of(args.begin(), args.end(), [&](NodeId id) { return graph[id].num_class == num_class; });
}

/// One class for several arguments: their own if they agree, else Real.
NumClass joined_class(const Graph& graph, std::span<const NodeId> args) {
  if (all_of_class(graph, args, NumClass::Int)) return NumClass::Int;
  return all_of_class(graph, args, NumClass::Bool) ? NumClass::Bool : NumClass::Real;
}

}  // namespace

NumClass arithmetic_class(const Graph& graph, std::span<const NodeId> args) {
  return !args.empty() && all_of_class(graph, args, NumClass::Int) ? NumClass::Int : NumClass::Real;
}

NumClass argument_class(const Graph& graph, const Op& op, std::span<const NodeId> args) {
  switch (op.rule) {
    case ClassRule::Real:
      return NumClass::Real;
    case ClassRule::Int:
      return NumClass::Int;
    case ClassRule::Same:
      return arithmetic_class(graph, args);
    case ClassRule::Compare:
      return arithmetic_class(graph, args);
    case ClassRule::Logical:
      return NumClass::Bool;
    case ClassRule::Select:
      return joined_class(graph, args.subspan(1));
    case ClassRule::ToReal:
    case ClassRule::ToInt:
      return graph[args[0]].num_class;
  }
  return NumClass::Real;
}

NumClass result_class(const Graph& graph, const Op& op, std::span<const NodeId> args) {
  switch (op.rule) {
    case ClassRule::Compare:
      return NumClass::Bool;
    case ClassRule::ToReal:
      return NumClass::Real;
    case ClassRule::ToInt:
      return NumClass::Int;
    default:
      return argument_class(graph, op, args);
  }
}

const char* class_error(const Graph& graph, const Op& op, std::span<const NodeId> args) {
  if (op.rule == ClassRule::Int && !all_of_class(graph, args, NumClass::Int)) return "an argument is not an Int";
  if (op.rule == ClassRule::Logical && !all_of_class(graph, args, NumClass::Bool)) return "an argument is not a Bool";
  if (op.rule == ClassRule::Select && graph[args[0]].num_class != NumClass::Bool) return "the condition is not a Bool";
  return nullptr;
}

double apply_op(const Op& op, std::span<const double> args, NumClass result) {
  const double value = op.eval(args);
  return result == NumClass::Int && !std::isfinite(value) ? 0 : value;
}

std::vector<NodeId> lifted_parts(const Graph& graph, NodeId body) {
  const Node& node = graph[body];
  return node.kind == NodeKind::Apply && node.op->packs ? node.args : std::vector<NodeId>{body};
}

double linear_combination(std::span<const double> values, std::span<const double> coefficients) {
  if (values.empty()) return 0;
  double total = coefficients[0] * values[0];
  for (size_t i = 1; i < values.size(); ++i) total += coefficients[i] * values[i];
  return total;
}

}  // namespace coda
