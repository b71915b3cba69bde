#include "compiler/grad/simplify.h"

#include <algorithm>

#include "compiler/ir/remake.h"
#include "compiler/rewrite/algebra.h"

namespace coda {

std::vector<NamedDim> dims_of(const Graph& graph, const std::vector<NodeId>& nodes) {
  std::vector<NamedDim> all;
  for (const NodeId node : nodes) all = set_union(all, graph[node].dims);
  return all;
}

bool Simplifier::is_zero(NodeId id) const { return graph_[id].kind == NodeKind::Constant && graph_[id].value == 0; }

NodeId Simplifier::as_real(NodeId x) {
  const Node& node = graph_[x];
  if (node.num_class == NumClass::Real) return x;
  if (node.kind == NodeKind::Constant) return graph_.constant(node.value);
  return graph_.apply(find_op("to_real"), {x}, node.span);
}

NodeId Simplifier::linear(const std::vector<ScaledNode>& wanted, Span span) {
  std::vector<NodeId> nodes;
  std::vector<double> coefficients;
  double constant = 0;
  auto add = [&](auto& self, double coefficient, NodeId id) -> void {
    const Node& node = graph_[id];
    if (node.kind == NodeKind::Constant) {
      constant += coefficient * node.value;
    } else if (node.kind == NodeKind::Sum && node.args.size() == 1) {
      self(self, coefficient * node.coefficients[0], node.args[0]);
    } else if (const auto at = std::find(nodes.begin(), nodes.end(), id); at != nodes.end()) {
      coefficients[static_cast<size_t>(at - nodes.begin())] += coefficient;
    } else {
      nodes.push_back(id);
      coefficients.push_back(coefficient);
    }
  };
  for (const ScaledNode& term : wanted) add(add, term.coefficient, term.node);
  for (size_t i = nodes.size(); i-- > 0;) {
    if (coefficients[i] != 0) continue;
    nodes.erase(nodes.begin() + static_cast<ptrdiff_t>(i));
    coefficients.erase(coefficients.begin() + static_cast<ptrdiff_t>(i));
  }
  if (constant != 0 && !nodes.empty()) {
    nodes.push_back(graph_.constant(constant));
    coefficients.push_back(1);
  }
  if (nodes.empty()) return graph_.constant(constant);
  return graph_.sum(std::move(nodes), std::move(coefficients), span);
}

NodeId Simplifier::product(std::vector<NodeId> wanted, const std::vector<NamedDim>& over, Span span) {
  double coefficient = 1;
  std::vector<NodeId> flat;
  auto push = [&](auto& self, NodeId id) -> void {
    const Node node = graph_[id];
    if (node.kind == NodeKind::Constant) {
      coefficient *= node.value;
    } else if (node.kind == NodeKind::Sum && node.args.size() == 1) {
      coefficient *= node.coefficients[0];
      self(self, node.args[0]);
    } else if (node.kind == NodeKind::Contract && node.over.empty() && node.num_class == NumClass::Real) {
      for (const NodeId arg : node.args) self(self, arg);
    } else {
      flat.push_back(id);
    }
  };
  for (const NodeId factor : wanted) push(push, factor);
  if (coefficient == 0) return graph_.constant(0);
  const auto present = dims_of(graph_, flat);
  for (const NamedDim& dim : difference(over, present)) {
    const NodeId count = graph_.extent(dim.extent);
    if (graph_[count].kind == NodeKind::Constant) {
      coefficient *= graph_[count].value;
    } else {
      flat.push_back(as_real(count));
    }
  }
  if (flat.empty()) return graph_.constant(coefficient);
  const auto summed_dims = intersection(over, present);
  const NodeId result = summed_dims.empty() ? graph_.contract(flat, {}, span) : summed(flat, summed_dims, span);
  return coefficient == 1 ? as_real(result) : linear({{coefficient, as_real(result)}}, span);
}

int Simplifier::depth(NodeId wanted) {
  for (auto id = static_cast<NodeId>(depths_.size()); id <= wanted; ++id) {
    const Node& node = graph_[id];
    int most = 0;
    for (const NodeId arg : node.args) most = std::max(most, depths_[static_cast<size_t>(arg)]);
    const bool covered = std::any_of(node.args.begin(), node.args.end(), [&](NodeId arg) {
      return graph_[arg].dims.size() == node.dims.size() + node.over.size();
    });
    const bool product = node.kind == NodeKind::Contract && !node.over.empty() && !covered;
    depths_.push_back(most + (product ? 1 : 0));
  }
  return depths_[static_cast<size_t>(wanted)];
}

NodeId Simplifier::summed(const std::vector<NodeId>& factors, const std::vector<NamedDim>& over, Span span) {
  int latest = 0;
  for (const NodeId factor : factors) {
    if (meet(graph_[factor].dims, over)) latest = std::max(latest, depth(factor));
  }
  std::vector<NodeId> outside, inside;
  for (const NodeId factor : factors) {
    const auto& dims = graph_[factor].dims;
    const bool late = row_factors_ == RowFactors::Leave && !meet(dims, over) && depth(factor) >= latest;
    (dims.empty() || late ? outside : inside).push_back(factor);
  }
  NodeId sum = kNoNode;
  const Node only = graph_[inside.front()];
  if (inside.size() == 1 && only.kind == NodeKind::Contract && !only.over.empty() && !meet(only.over, over)) {
    sum = product(only.args, set_union(over, only.over), span);  // a sum of a sum is one sum
  } else if (inside.size() == 1 && only.kind == NodeKind::Put && meet({only.dim}, over)) {
    std::vector<NamedDim> inner = difference(over, {only.dim});  // the sum of a put is that of what was put
    for (const auto& term : only.map.terms) inner = set_union(inner, {term.dim});
    sum = product({only.args[0]}, inner, span);
  } else {
    sum = graph_.contract(inside, over, span);
  }
  if (outside.empty()) return sum;
  outside.push_back(sum);
  return product(outside, {}, span);
}

NodeId Simplifier::view(NodeId x, const NamedDim& dim, const AffineMap& map, Span span) {
  const Node& node = graph_[x];
  if (!node.has_dim(dim.name)) return x;
  if (node.kind == NodeKind::Put && node.dim == dim && node.map == map) return node.args[0];
  return graph_.view(x, dim, map, span);
}

NodeId Simplifier::put(NodeId x, const NamedDim& dim, const AffineMap& map, Span span) {
  if (is_zero(x)) return x;
  // What does not depend on a dimension of the map is the same at each of its coordinates.
  std::vector<NodeId> factors{x};
  for (const auto& term : map.terms) {
    if (graph_[x].has_dim(term.dim.name)) continue;
    const NodeId inside = graph_.apply(find_op("ge"), {graph_.index(term.dim), graph_.constant(0, NumClass::Int)});
    factors.push_back(graph_.apply(find_op("to_real"), {inside}));
  }
  return graph_.put(factors.size() == 1 ? x : product(factors), dim, map, span);
}

NodeId Simplifier::rebuild(const Node& node, std::vector<NodeId> args) {
  if (node.num_class == NumClass::Real) {
    if (node.kind == NodeKind::Contract) return product(std::move(args), node.over, node.span);
    if (node.kind == NodeKind::View) return view(args[0], node.dim, node.map, node.span);
    if (node.kind == NodeKind::Put) return put(args[0], node.dim, node.map, node.span);
    if (node.kind == NodeKind::Sum) {
      std::vector<ScaledNode> terms;
      for (size_t i = 0; i < args.size(); ++i) terms.push_back({node.coefficients[i], args[i]});
      return as_real(linear(terms, node.span));
    }
  }
  return remake(graph_, node, std::move(args));
}

}  // namespace coda
