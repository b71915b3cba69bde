#include "compiler/grad/operands.h"

#include <algorithm>

#include "compiler/grad/simplify.h"
#include "compiler/rewrite/algebra.h"

namespace coda {

namespace {

using Group = std::vector<NodeId>;

/// Factors connected by dimensions of `dims`; those without any are left out.
std::vector<Group> connected(const Graph& graph, const Group& factors, const std::vector<NamedDim>& dims) {
  std::vector<Group> groups;
  for (const NodeId factor : factors) {
    const auto own = intersection(graph[factor].dims, dims);
    if (own.empty()) continue;
    Group merged{factor};
    std::erase_if(groups, [&](const Group& group) {
      const bool joined = meet(intersection(dims_of(graph, group), dims), own);
      if (joined) merged.insert(merged.end(), group.begin(), group.end());
      return joined;
    });
    groups.push_back(std::move(merged));
  }
  return groups;
}

/// Computed values before parameters, then in the order of declaration.
std::pair<bool, int> rank(const Graph& graph, const Group& group) {
  bool computed = false;
  int first = INT32_MAX;
  for (const NodeId factor : group) {
    const Node* leaf = &graph[factor];
    while (leaf->kind == NodeKind::View) leaf = &graph[leaf->args[0]];
    if (leaf->kind == NodeKind::Input) first = std::min(first, leaf->param);
    computed = computed || leaf->kind != NodeKind::Input;
  }
  return {!computed, first};
}

}  // namespace

std::optional<std::array<Group, 2>> operand_groups(const Graph& graph, const Node& contraction) {
  const auto& factors = contraction.args;
  if (contraction.over.empty() || factors.size() < 3) return std::nullopt;
  const auto all = dims_of(graph, factors);
  for (const NodeId factor : factors) {
    if (graph[factor].dims.size() == all.size()) return std::nullopt;  // a statistic of products
  }
  std::vector<Group> groups = connected(graph, factors, contraction.dims);
  if (groups.size() == 1) {
    // Dimensions that every operand has are a batch.
    std::vector<NamedDim> batch = contraction.dims;
    for (const NodeId factor : factors) {
      const auto own = intersection(graph[factor].dims, contraction.dims);
      if (!own.empty()) batch = intersection(batch, own);
    }
    groups = connected(graph, factors, difference(contraction.dims, batch));
  }
  if (groups.size() != 2) return std::nullopt;
  if (rank(graph, groups[1]) < rank(graph, groups[0])) std::swap(groups[0], groups[1]);
  for (const NodeId factor : factors) {
    const bool placed = std::any_of(groups.begin(), groups.end(), [&](const Group& group) {
      return std::find(group.begin(), group.end(), factor) != group.end();
    });
    if (!placed) groups[0].push_back(factor);
  }
  return std::array<Group, 2>{groups[0], groups[1]};
}

}  // namespace coda
