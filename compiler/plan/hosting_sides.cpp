// What a GEMM multiplies: its factors as two operands, an activation's side and a weight's, and what of both is a
// batch.
#include <algorithm>

#include "compiler/epilogue/operand.h"
#include "compiler/ir/remake.h"
#include "compiler/ir/storage_type.h"
#include "compiler/plan/hosting.h"

namespace coda {

/// Dimensions that all factors with summed dimensions have, where each has others too: a product for each element.
std::vector<NamedDim> Hosting::batch_of(const Node& gemm) const {
  std::optional<std::vector<NamedDim>> shared;
  size_t least = SIZE_MAX;
  for (const NodeId factor : gemm.args) {
    const auto& dims = algebra_.graph()[factor].dims;
    const auto own = intersection(dims, gemm.dims);
    if (own.empty() || !meet(dims, gemm.over)) continue;
    shared = shared ? intersection(*shared, own) : own;
    least = std::min(least, own.size());
  }
  return shared && shared->size() < least ? *shared : std::vector<NamedDim>{};
}

/// The two operands of a GEMM as products of its factors; those with only summed dimensions go where `fold_` says.
std::optional<std::vector<NodeId>> Hosting::sides(NodeId gemm) {
  const Node node = algebra_.graph()[gemm];
  std::vector<std::vector<NodeId>> groups;
  std::vector<NodeId> summed_only;
  const std::vector<NamedDim> batch = batch_of(node);
  const auto own = [&](NodeId factor) {
    return difference(intersection(algebra_.graph()[factor].dims, node.dims), batch);
  };
  for (const NodeId factor : node.args) {
    if (own(factor).empty()) {
      summed_only.push_back(factor);
      continue;
    }
    std::vector<NodeId> merged{factor};
    std::erase_if(groups, [&](const std::vector<NodeId>& group) {
      const bool joined =
          std::any_of(group.begin(), group.end(), [&](NodeId other) { return meet(own(other), own(factor)); });
      if (joined) merged.insert(merged.end(), group.begin(), group.end());
      return joined;
    });
    groups.push_back(merged);
  }
  if (groups.size() > 2) return std::nullopt;
  // Activations first: what is computed, then parameters that are not constant, whose rows are those of the most
  // tensors, in declared order.
  const auto led = [&](const std::vector<NodeId>& group) {
    int most = 0;
    for (const NodeId factor : group) {
      for (const NamedDim& dim : own(factor)) {
        const auto leads = [&](const Param& param) { return param.dims.size() > 1 && param.dims[0].name == dim.name; };
        most = std::max(most, static_cast<int>(std::count_if(block_.params.begin(), block_.params.end(), leads)));
      }
    }
    return most;
  };
  const auto rank = [&](const std::vector<NodeId>& group) {
    bool computed = false, constant = true;
    int first = static_cast<int>(block_.params.size());
    for (const NodeId factor : group) {
      const Node* leaf = &algebra_.graph()[factor];
      while (leaf->kind == NodeKind::View) leaf = &algebra_.graph()[leaf->args[0]];
      if (leaf->kind != NodeKind::Input) {
        computed = true;
        continue;
      }
      constant = constant && block_.params[static_cast<size_t>(leaf->param)].is_const;
      first = std::min(first, leaf->param);
    }
    return std::tuple(!computed, constant, -led(group), first);
  };
  std::sort(groups.begin(), groups.end(), [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
  if (!groups.empty() && !summed_only.empty()) {
    const size_t wanted = fold_(gemm) && groups.size() > 1 ? 1 : 0;
    const std::vector<std::vector<NodeId>> own_groups = groups;
    for (const NodeId factor : summed_only) {  // a side that lacks one of its dimensions would grow by it
      const auto fits = [&](size_t side) {
        return subset(algebra_.graph()[factor].dims, all_dims(algebra_.graph(), own_groups[side]));
      };
      const size_t other = groups.size() - 1 - wanted;
      groups[fits(wanted) || !fits(other) ? wanted : other].push_back(factor);
    }
  }
  std::vector<NodeId> operands;
  for (const auto& group : groups) operands.push_back(algebra_.product(group));
  if (operands.size() == 2) convert_sources(operands);
  return operands;
}

/// Does a statistic run over a part of a product's batch, or over the batch and not all that one operand adds?
bool Hosting::cuts_batch(const std::vector<NamedDim>& over, const HostKernel& kernel) const {
  if (kernel.kind != KernelKind::Gemm || kernel.operands.size() != 2) return false;
  const Graph& graph = algebra_.graph();
  const auto& dims = graph[kernel.accumulator].dims;
  const auto one = intersection(graph[kernel.operands[0]].dims, dims),
             two = intersection(graph[kernel.operands[1]].dims, dims), batch = intersection(one, two);
  if (!meet(over, batch)) return false;
  return !subset(batch, over) || (!subset(difference(one, batch), over) && !subset(difference(two, batch), over));
}

/// Does it make one dimension of some that differ in which operands have them? No tile has an element of it in a row.
bool Hosting::mixes_sides(const Node& put, const HostKernel& kernel) const {
  if (put.kind != NodeKind::Put || kernel.operands.size() != 2) return false;
  const Graph& graph = algebra_.graph();
  const auto has = [&](const AffineMap::Term& term, size_t side) {
    return meet({term.dim}, graph[kernel.operands[side]].dims);
  };
  const auto& terms = put.map.terms;
  return terms.size() > 1 && std::any_of(terms.begin(), terms.end(), [&](const auto& term) {
           const bool of_batch = has(term, 0) && has(term, 1);
           return of_batch || has(term, 0) != has(terms[0], 0) || has(term, 1) != has(terms[0], 1);
         });
}

/// A piece of a parameter that no product can address is copied before it.
void Hosting::copy_cut(NodeId side, const std::vector<NamedDim>& over) {
  const bool fits = over.size() != 1 || operand_shape(block_, algebra_.graph(), side, over[0]);
  if (fits || !is_source(side)) return;
  copied.insert(side);
}

/// Flattened by the product that reads it, where the one that makes it can't.
NodeId Hosting::unflattened(NodeId side) {
  Graph& graph = algebra_.graph();
  std::vector<Node> after;  // what is done with the flattened value
  NodeId at = side;
  while (graph[at].kind != NodeKind::Put && graph[at].args.size() == 1 && graph[at].dims == graph[side].dims) {
    after.push_back(graph[at]);
    at = graph[at].args[0];
  }
  const Node put = graph[at];
  if (put.kind != NodeKind::Put || !put.map.offset.is_zero()) return side;
  Dim elements(1);
  for (const auto& term : put.map.terms) elements = elements * term.dim.extent;
  const auto made = home.find(put.args[0]);
  const bool is_whole = elements == put.dim.extent && made != home.end() && made->second >= 0;
  if (!is_whole || !mixes_sides(put, kernels[static_cast<size_t>(made->second)])) return side;
  NodeId value = put.args[0];
  for (auto node = after.rbegin(); node != after.rend(); ++node) value = remake(graph, *node, {value});
  const NodeId flat = graph.put(value, put.dim, put.map, put.span);
  flattened[flat] = value;
  return flat;
}

/// Parameters of types that have no product together are stored anew in one that has: f32 beside 16 bits is rounded
/// like a computed operand (an incoming gradient beside weights), 8 bits beside anything wider become wider.
void Hosting::convert_sources(std::vector<NodeId>& operands) {
  const OperandTypes types = types_of(operands);
  for (size_t side = 0; side < 2; ++side) {
    const auto type = side == 0 ? types.first : types.second;
    if (!type || !is_source(operands[side])) continue;
    if (written_type(algebra_.graph(), block_, operands[side]) == type) continue;
    const NodeId cast = algebra_.graph().cast(operands[side], *type, algebra_.graph()[operands[side]].span);
    if (!written_casts_.contains(cast)) elastic.insert(cast);
    operands[side] = cast;
  }
}

OperandTypes Hosting::types_of(const std::vector<NodeId>& operands) const {
  return product_types(written_type(algebra_.graph(), block_, operands[0]),
                       written_type(algebra_.graph(), block_, operands[1]), storage_type(block_));
}

}  // namespace coda
