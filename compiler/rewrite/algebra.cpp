#include "compiler/rewrite/algebra.h"

#include <algorithm>
#include <map>

#include "compiler/epilogue/affine.h"
#include "compiler/ir/remake.h"

namespace coda {

namespace {

std::vector<NamedDim> all_dims(const Graph& graph, const std::vector<NodeId>& nodes) {
  std::vector<NamedDim> all;
  for (const NodeId node : nodes) all = set_union(all, graph[node].dims);
  return all;
}

}  // namespace

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
  double constant = 0;
  bool has_constant = false;
  // A wide sum of several terms is an anchor: h = x + acc stays one value for all its users.
  auto add = [&](auto& self, double coefficient, NodeId id) -> void {
    const Node& node = graph_[id];
    if (node.kind == NodeKind::Constant && node.num_class == NumClass::Real) {
      constant += coefficient * node.value;
      has_constant = true;
    } else if (node.kind == NodeKind::Sum && (node.args.size() < 2 || !wide(id))) {
      for (const Term& term : terms(id)) self(self, coefficient * term.coefficient, term.node);
    } else {
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
  if (has_constant && (constant != 0 || nodes.empty())) {
    nodes.push_back(graph_.constant(constant));
    coefficients.push_back(1);
  }
  if (nodes.empty()) return graph_.constant(0);
  return graph_.sum(nodes, coefficients, span);
}

NodeId Algebra::product(std::vector<NodeId> wanted, std::vector<NamedDim> over, Span span) {
  double coefficient = 1;
  std::vector<NodeId> flat;
  auto push = [&](auto& self, NodeId id) -> void {
    const Node node = graph_[id];
    if (node.kind == NodeKind::Constant && node.num_class == NumClass::Real) {
      coefficient *= node.value;
    } else if (node.kind == NodeKind::Sum && node.args.size() == 1) {
      coefficient *= node.coefficients[0];
      self(self, node.args[0]);
    } else if (node.kind == NodeKind::Contract && node.over.empty()) {
      for (const NodeId arg : node.args) self(self, arg);
    } else {
      flat.push_back(id);
    }
  };
  for (const NodeId factor : wanted) push(push, factor);
  const auto present = all_dims(graph_, flat);
  for (const NamedDim& dim : difference(over, present)) {  // summing a constant counts its elements
    flat.push_back(graph_.apply(find_op("to_real"), {graph_.extent(dim.extent)}));
  }
  over = intersection(over, present);
  const NodeId result = over.empty() ? graph_.contract(flat, {}, span) : summed(flat, over, span);
  return coefficient == 1 ? result : scaled(coefficient, result, span);
}

NodeId Algebra::summed(std::vector<NodeId> flat, std::vector<NamedDim> over, Span span) {
  std::sort(flat.begin(), flat.end());
  std::vector<NodeId> outside, rest;
  for (const NodeId factor : flat) (meet(graph_[factor].dims, over) ? rest : outside).push_back(factor);

  // Components of factors that share summed dimensions.
  std::vector<std::vector<NodeId>> components;
  for (const NodeId factor : rest) {
    std::vector<NodeId> merged{factor};
    std::erase_if(components, [&](const std::vector<NodeId>& component) {
      const bool joined = std::any_of(component.begin(), component.end(), [&](NodeId other) {
        return meet(intersection(graph_[factor].dims, graph_[other].dims), over);
      });
      if (joined) merged.insert(merged.end(), component.begin(), component.end());
      return joined;
    });
    components.push_back(merged);
  }
  if (!outside.empty() || components.size() > 1) {
    for (auto& component : components) {
      outside.push_back(product(component, intersection(over, all_dims(graph_, component)), span));
    }
    return product(outside, {}, span);
  }

  if (rest.size() > 1) {  // a dimension that one factor owns is summed on it first
    for (const NamedDim& dim : over) {
      const auto has = [&](NodeId factor) { return graph_[factor].has_dim(dim.name); };
      if (std::count_if(rest.begin(), rest.end(), has) != 1) continue;
      const auto owner = std::find_if(rest.begin(), rest.end(), has);
      *owner = product({*owner}, {dim}, span);
      return product(rest, difference(over, {dim}), span);
    }
    return graph_.contract(rest, over, span);
  }

  const Node node = graph_[rest[0]];
  if (node.kind == NodeKind::Contract && !node.over.empty() && !meet(node.over, over)) {
    return product(node.args, set_union(over, node.over), span);
  }
  if (node.kind == NodeKind::Put && meet({node.dim}, over)) {  // the sum of a put is the sum of what was put
    std::vector<NamedDim> inner = difference(over, {node.dim});
    for (const auto& term : node.map.terms) inner = set_union(inner, {term.dim});
    return product({node.args[0]}, inner, span);
  }
  return graph_.contract(rest, over, span);
}

NodeId Algebra::apply(const Op* op, std::vector<NodeId> args, Span span) {
  // Linear ops are linear combinations, and a quotient is a product.
  const std::string_view name = op->name;
  if (name == "neg" && graph_[args[0]].num_class == NumClass::Real) return linear({{-1, args[0]}}, span);
  if (name == "div" && graph_[args[0]].num_class == NumClass::Real) {
    return product({args[0], graph_.apply(find_op("recip"), {args[1]}, span)}, {}, span);
  }
  return graph_.apply(op, std::move(args), span);
}

NodeId Algebra::view(NodeId x, const NamedDim& dim, const AffineMap& map, Span span) {
  const Node node = graph_[x];
  if (!node.has_dim(dim.name)) return x;
  const auto inside = [&](NodeId arg) { return view(arg, dim, map, span); };
  const bool elementwise = node.kind == NodeKind::Sum || node.kind == NodeKind::Apply || node.kind == NodeKind::Cast ||
                           (node.kind == NodeKind::Contract && node.over.empty());
  if (elementwise) {
    std::vector<NodeId> args;
    for (const NodeId arg : node.args) args.push_back(inside(arg));
    return rebuild(node, std::move(args));
  }
  if (node.kind == NodeKind::Put && node.dim == dim) {
    if (node.map == map) return node.args[0];
    // Pieces side by side: a view of one sees nothing of another.
    const auto whole = [](const AffineMap& m) {
      Dim last = m.offset;
      for (const auto& term : m.terms) last = last + term.stride * (term.dim.extent - Dim(1));
      return last;
    };
    if (facts_.less(whole(node.map), map.offset) || facts_.less(whole(map), node.map.offset)) {
      return graph_.constant(0);
    }
  } else if (node.kind == NodeKind::Put) {
    return put(inside(node.args[0]), node.dim, node.map, span);
  } else if (node.kind == NodeKind::View) {  // a piece of a piece is one piece
    const bool of_piece =
        std::any_of(node.map.terms.begin(), node.map.terms.end(), [&](const auto& term) { return term.dim == dim; });
    if (of_piece) {
      return graph_.view(node.args[0], node.dim, coda::substitute(node.map, {{dim.name, map}}), span);
    }
  }
  return graph_.view(x, dim, map, span);
}

NodeId Algebra::put(NodeId x, const NamedDim& dim, const AffineMap& map, Span span) {
  const Node node = graph_[x];
  if (node.kind == NodeKind::Constant && node.value == 0) return x;
  const bool has_all =
      std::all_of(map.terms.begin(), map.terms.end(), [&](const auto& term) { return node.has_dim(term.dim.name); });
  if (node.kind == NodeKind::Sum && has_all && node.args.size() == 1) {
    return scaled(node.coefficients[0], put(node.args[0], dim, map, span), span);
  }
  return graph_.put(x, dim, map, span);
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
  for (const NodeId id : topological(graph_, {root})) {
    if (memo.contains(id)) continue;
    const Node node = graph_[id];
    std::vector<NodeId> args;
    for (const NodeId arg : node.args) args.push_back(memo.at(arg));
    memo[id] = args == node.args ? id : rebuild(node, std::move(args));
  }
  return memo.at(root);
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
