#include "compiler/rewrite/algebra.h"

#include <algorithm>
#include <map>

#include "compiler/ir/remake.h"

namespace coda {

NodeId Algebra::note(const Law& law, NodeId witness, std::vector<std::pair<const char*, NodeId>> bindings, Span span) {
  if (logged_.insert({&law, witness}).second) log_.push_back({&law, witness, std::move(bindings), span});
  return witness;
}

std::vector<Term> Algebra::terms(NodeId id) const {
  const Node& node = graph_[id];
  if (node.kind != NodeKind::Sum) return {{1, id}};
  std::vector<Term> list;
  for (size_t i = 0; i < node.args.size(); ++i) list.push_back({node.coefficients[i], node.args[i]});
  return list;
}

std::vector<NodeId> Algebra::factors(NodeId id) const {
  const Node& node = graph_[id];
  return node.kind == NodeKind::Contract && node.over.empty() ? node.args : std::vector<NodeId>{id};
}

bool Algebra::covering(const Node& contraction) const {
  const auto all = all_dims(graph_, contraction.args);
  return std::any_of(contraction.args.begin(), contraction.args.end(),
                     [&](NodeId arg) { return graph_[arg].dims.size() == all.size(); });
}

bool Algebra::is_gemm(NodeId id) const {
  const Node& node = graph_[id];
  return node.kind == NodeKind::Contract && !node.over.empty() && !covering(node);
}

NodeId Algebra::scaled(double coefficient, NodeId node, Span span) { return linear({{coefficient, node}}, span); }

NodeId Algebra::linear(const std::vector<Term>& wanted, Span span) {
  std::map<NodeId, double> collected;
  std::vector<Term> apart;
  double constant = 0;
  bool has_constant = false, repeated = false;
  // A wide sum of several terms is an anchor: h = x + acc stays one value for all its users.
  auto add = [&](auto& self, double coefficient, NodeId id) -> void {
    const Node& node = graph_[id];
    if (node.kind == NodeKind::Constant && node.num_class == NumClass::Real) {
      constant += coefficient * node.value;
      has_constant = true;
    } else if (node.kind == NodeKind::Sum && (node.args.size() < 2 || !wide(id))) {
      for (const Term& term : terms(id)) self(self, coefficient * term.coefficient, term.node);
    } else if (!on(kLikeTerms) && collected.contains(id)) {
      apart.push_back({coefficient, id});
    } else {
      repeated = repeated || collected.contains(id);
      collected[id] += coefficient;
    }
  };
  for (const Term& term : wanted) add(add, term.coefficient, term.node);
  std::vector<NodeId> nodes;
  std::vector<double> coefficients;
  for (const auto& [node, coefficient] : collected) {
    if (coefficient == 0) continue;
    nodes.push_back(node);
    coefficients.push_back(coefficient);
  }
  for (const Term& term : apart) {
    nodes.push_back(term.node);
    coefficients.push_back(term.coefficient);
  }
  if (has_constant && (constant != 0 || nodes.empty())) {
    nodes.push_back(graph_.constant(constant));
    coefficients.push_back(1);
  }
  const NodeId result = nodes.empty() ? graph_.constant(0) : graph_.sum(nodes, coefficients, span);
  return repeated ? note(kLikeTerms, result, {{"x", wanted[0].node}}, span) : result;
}

NodeId Algebra::apply(const Op* op, std::vector<NodeId> args, Span span) {
  const Algebraic& known = algebraic(*op);
  if (graph_[args[0]].num_class == NumClass::Real) {
    if (known.slope != 0 && on(kLinearOp)) {
      return note(kLinearOp, linear({{known.slope, args[0]}}, span), {{"x", args[0]}}, span);
    }
    if (!known.inverse.empty() && on(kQuotient)) {
      const NodeId inverse = apply(find_op(known.inverse), {args[1]}, span);
      note(kQuotient, inverse, {{"a", args[0]}, {"b", args[1]}}, span);
      return product({args[0], inverse}, {}, span);
    }
  }
  return graph_.apply(op, std::move(args), span);
}

NodeId Algebra::rebuild(const Node& node, std::vector<NodeId> args) {
  switch (node.kind) {
    case NodeKind::Contract:
      return product(std::move(args), node.over, node.span);
    case NodeKind::Sum: {
      std::vector<Term> list;
      for (size_t i = 0; i < args.size(); ++i) list.push_back({node.coefficients[i], args[i]});
      return linear(list, node.span);
    }
    case NodeKind::Apply:
      return apply(node.op, std::move(args), node.span);
    case NodeKind::View:
      return view(args[0], node.dim, node.map, node.span);
    case NodeKind::Put:
      return put(args[0], node.dim, node.map, node.span);
    default:
      return remake(graph_, node, std::move(args));
  }
}

NodeId Algebra::substitute(NodeId root, const std::map<NodeId, NodeId>& replacements) {
  std::map<NodeId, NodeId> memo = replacements;
  for (const auto& [before, after] : replacements) carry_name(before, after);
  for (const NodeId id : topological(graph_, {root})) {
    if (memo.contains(id)) continue;
    const Node node = graph_[id];
    std::vector<NodeId> args;
    for (const NodeId arg : node.args) args.push_back(memo.at(arg));
    memo[id] = args == node.args ? id : rebuild(node, std::move(args));
    carry_name(id, memo[id]);
    if (whole_.contains(id)) whole_.insert(memo[id]);
    if (shared_.contains(id)) shared_.insert(memo[id]);
  }
  return memo.at(root);
}

void Algebra::carry_name(NodeId before, NodeId after) {
  const auto named = names_.find(before);
  if (named != names_.end() && before != after) names_.try_emplace(after, std::string(named->second));
}

NodeId Algebra::import(const Graph& source, NodeId root, std::map<NodeId, NodeId>& memo) {
  for (const NodeId id : topological(source, {root})) {
    if (memo.contains(id)) continue;
    const Node& node = source[id];
    std::vector<NodeId> args;
    for (const NodeId arg : node.args) args.push_back(memo.at(arg));
    memo[id] = rebuild(node, std::move(args));
  }
  return memo.at(root);
}

}  // namespace coda
