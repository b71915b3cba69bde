#include "compiler/rewrite/context.h"

#include <algorithm>

namespace coda {

namespace {

constexpr int kLate = 1000;  // deeper than any forward

}  // namespace

void LawContext::look_at(const std::vector<NodeId>& nodes) {
  contractions_.clear();
  for (const NodeId id : nodes) {
    const Node& node = algebra.graph()[id];
    if (node.kind == NodeKind::Contract && !node.over.empty()) contractions_.push_back(id);
  }
  computed_ = {contractions_.begin(), contractions_.end()};
}

int LawContext::depth(NodeId root) {
  if (const auto it = depths_.find(root); it != depths_.end()) return it->second;
  const Graph& graph = algebra.graph();
  for (const NodeId id : topological(graph, {root})) {
    if (depths_.contains(id)) continue;
    const Node& node = graph[id];
    int deepest = node.kind == NodeKind::Input && late_params_.contains(node.param) ? kLate : 0;
    for (const NodeId arg : node.args) deepest = std::max(deepest, depths_.at(arg));
    depths_[id] = deepest + (algebra.is_gemm(id) && algebra.wide(id) ? 1 : 0);
  }
  return depths_.at(root);
}

std::set<NodeId> LawContext::added_gemms(NodeId node) const {
  std::set<NodeId> added;
  for (const NodeId id : topological(algebra.graph(), {node})) {
    if (algebra.is_gemm(id) && !computes(id)) added.insert(id);
  }
  return added;
}

bool LawContext::is_below(NodeId node, NodeId root) const {
  const auto below = topological(algebra.graph(), {root});
  return std::find(below.begin(), below.end(), node) != below.end();
}

bool LawContext::sums_lose(NodeId gemm) const {
  const Graph& graph = algebra.graph();
  const auto& args = graph[gemm].args;
  return std::any_of(args.begin(), args.end(), [&](NodeId arg) {
    while (graph[arg].kind == NodeKind::View) arg = graph[arg].args[0];
    return algebra.wide(arg) && graph[arg].kind == NodeKind::Input && exact_params_.contains(graph[arg].param);
  });
}

}  // namespace coda
