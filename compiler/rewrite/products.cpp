// Products and sums of products in normal form.
#include <algorithm>

#include "compiler/rewrite/algebra.h"

namespace coda {

NodeId Algebra::product(std::vector<NodeId> wanted, std::vector<NamedDim> over, Span span) {
  for (const NamedDim& dim : std::vector<NamedDim>(over)) {  // a sum over a dimension of one element is that element
    const bool one = facts_.at_most(dim.extent, Dim(1)) && facts_.at_most(Dim(1), dim.extent);
    if (!one || !on(kSumOverOne)) continue;
    over = difference(over, {dim});
    for (NodeId& factor : wanted) {
      const NodeId whole = factor;
      factor = view(factor, dim, {}, span);
      if (factor != whole) note(kSumOverOne, factor, {{"x", whole}}, span);
    }
  }
  double coefficient = 1;
  // A whole number among real factors is a coefficient like any other.
  const bool real = std::any_of(wanted.begin(), wanted.end(), [&](NodeId id) {
    return graph_[id].kind != NodeKind::Constant && graph_[id].num_class == NumClass::Real;
  });
  std::vector<NodeId> flat;
  auto push = [&](auto& self, NodeId id) -> void {
    const Node node = graph_[id];
    if (node.kind == NodeKind::Constant && (node.num_class == NumClass::Real || real)) {
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
  if (on(kCancel)) cancel(flat, span);
  const auto present = all_dims(graph_, flat);
  for (const NamedDim& dim : difference(over, present)) {  // summing a constant counts its elements
    if (!may_pass(flat, {dim})) {
      const NodeId some = graph_.apply(find_op("gt"), {graph_.extent(dim.extent), graph_.constant(0, NumClass::Int)});
      flat = {graph_.apply(find_op("select"), {some, graph_.contract(flat, {}, span), graph_.constant(0)}, span)};
    }
    flat.push_back(graph_.apply(find_op("to_real"), {graph_.extent(dim.extent)}));
    note(kSumOfConstant, flat.back(), {}, span);
  }
  over = intersection(over, present);
  const NodeId result = over.empty() ? graph_.contract(flat, {}, span) : summed(flat, over, span);
  return coefficient == 1 ? result : scaled(coefficient, result, span);
}

bool Algebra::may_pass(const std::vector<NodeId>& factors, const std::vector<NamedDim>& over, bool positive) {
  std::vector<Dim> assumed;
  for (const NamedDim& dim : over) {
    if (facts_.at_most(Dim(1), dim.extent)) continue;
    const bool spoilt = std::any_of(factors.begin(), factors.end(),
                                    [&](NodeId factor) { return of_nothing_.spoils(factor, dim.extent, positive); });
    if (spoilt && sizes_.is_nothing(dim.extent)) return false;
    if (spoilt) assumed.push_back(dim.extent);
  }
  for (const Dim& extent : assumed) {
    if (std::find(not_empty_.begin(), not_empty_.end(), extent) == not_empty_.end()) not_empty_.push_back(extent);
  }
  return true;
}

void Algebra::cancel(std::vector<NodeId>& factors, Span span) {
  for (size_t i = 0; i < factors.size();) {
    const Node node = graph_[factors[i]];
    const bool inverse = node.kind == NodeKind::Apply && node.op == reciprocal_op() && positive(node.args[0]);
    const auto it = inverse ? std::find(factors.begin(), factors.end(), node.args[0]) : factors.end();
    if (it == factors.end()) {
      ++i;
      continue;
    }
    note(kCancel, node.args[0], {{"a", node.args[0]}}, span);
    const auto other = it - factors.begin(), self = static_cast<ptrdiff_t>(i);
    factors.erase(factors.begin() + std::max(other, self));
    factors.erase(factors.begin() + std::min(other, self));
    i = 0;
  }
}

NodeId Algebra::summed(std::vector<NodeId> flat, std::vector<NamedDim> over, Span span) {
  std::sort(flat.begin(), flat.end());
  std::vector<NodeId> outside, inside, rest;
  for (const NodeId factor : flat) (meet(graph_[factor].dims, over) ? rest : outside).push_back(factor);
  if (!on(kFactorOut) || !may_pass(outside, over)) std::swap(outside, inside);
  for (const NodeId factor : std::vector<NodeId>(outside)) {
    if (keeps_in_range(factor, rest)) inside.push_back(factor);
  }
  std::erase_if(outside,
                [&](NodeId factor) { return std::find(inside.begin(), inside.end(), factor) != inside.end(); });

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
  const bool apart = on(kSeparateSums) && (components.size() == 1 || may_pass(rest, over));
  if (!apart) components = {rest};
  components.front().insert(components.front().end(), inside.begin(), inside.end());
  if (outside.empty() && components.size() == 1) return connected(components[0], over, span);

  const bool several = components.size() > 1;
  const std::vector<NodeId> left = outside;
  for (const auto& component : components) {
    const NodeId sum = connected(component, intersection(over, all_dims(graph_, component)), span);
    // A sum of one wide factor takes its coefficient along; the witness is what is left to sum.
    const auto parts = terms(sum);
    if (several) note(kSeparateSums, parts[0].node, {{"a", component[0]}}, span);
    for (const NodeId factor : left) {
      if (!graph_[factor].dims.empty()) note(kFactorOut, parts[0].node, {{"r", factor}, {"a", parts[0].node}}, span);
    }
    outside.push_back(sum);
  }
  return product(outside, {}, span);
}

/// Is the factor (a norm's, say) what makes an operand fit f16, to which the product's other operand has it rounded?
bool Algebra::keeps_in_range(NodeId factor, const std::vector<NodeId>& summed) const {
  if (!written_ || graph_[factor].dims.empty()) return false;
  const size_t all = all_dims(graph_, summed).size();
  const auto is_whole = [&](NodeId part) { return graph_[part].dims.size() == all; };
  if (std::any_of(summed.begin(), summed.end(), is_whole)) return false;  // no operands: a sum in f32
  const auto is_half = [&](NodeId part) { return written_(part) == DType::F16; };
  if (std::none_of(summed.begin(), summed.end(), is_half)) return false;
  return std::any_of(summed.begin(), summed.end(), [&](NodeId part) {
    const DType type = written_(part).value_or(storage_);
    return info(type).bits >= 16 && type != DType::F16 && meet(graph_[part].dims, graph_[factor].dims);
  });
}

/// Is a factor of the value a matrix multiplication?
bool Algebra::has_gemm(NodeId value) const {
  const auto parts = terms(value);
  const auto all = factors(parts[0].node);
  return parts.size() == 1 && std::any_of(all.begin(), all.end(), [&](NodeId factor) { return is_gemm(factor); });
}

NodeId Algebra::connected(std::vector<NodeId> rest, const std::vector<NamedDim>& over, Span span) {
  std::sort(rest.begin(), rest.end());
  if (rest.size() > 1) {  // a dimension that one factor owns is summed on it first
    for (const NamedDim& dim : over) {
      const auto has = [&](NodeId factor) { return graph_[factor].has_dim(dim.name); };
      std::vector<NodeId> owners, others;
      std::partition_copy(rest.begin(), rest.end(), std::back_inserter(owners), std::back_inserter(others), has);
      // Of several, one must be a tensor that the rest are weights of, before a product that adds dimensions.
      const auto all = all_dims(graph_, owners);
      const bool covered =
          std::any_of(owners.begin(), owners.end(), [&](NodeId factor) { return subset(all, graph_[factor].dims); });
      const bool apart = !others.empty() && covered && (owners.size() == 1 || !subset(all_dims(graph_, others), all));
      if (!on(kLinearReduction) || !apart || !may_pass(others, {dim})) continue;
      const NodeId whole = owners.size() == 1 ? owners[0] : product(owners, {}, span);
      others.push_back(product(owners, {dim}, span));
      note(kLinearReduction, terms(others.back())[0].node, {{"f", whole}}, span);
      return product(others, difference(over, {dim}), span);
    }
    return graph_.contract(rest, over, span);
  }

  const Node node = graph_[rest[0]];
  if (node.kind == NodeKind::Contract && !node.over.empty() && on(kNestedSums) && !whole_.contains(rest[0])) {
    const NodeId whole = product(node.args, set_union(over, node.over), span);
    if (shared_.contains(rest[0]) && has_gemm(whole)) return graph_.contract(rest, over, span);
    return note(kNestedSums, whole, {{"x", rest[0]}}, span);
  }
  if (node.kind == NodeKind::Put && meet({node.dim}, over) && on(kSumOfJoin)) {
    std::vector<NamedDim> inner = difference(over, {node.dim});
    for (const auto& term : node.map.terms) inner = set_union(inner, {term.dim});
    const NodeId whole = product({node.args[0]}, inner, span);
    return note(kSumOfJoin, terms(whole)[0].node, {{"x", node.args[0]}}, span);
  }
  return graph_.contract(rest, over, span);
}

}  // namespace coda
