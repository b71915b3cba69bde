#include <algorithm>
#include <iterator>

#include "compiler/rewrite/algebra.h"

namespace coda {

std::vector<NamedDim> all_dims(const Graph& graph, const std::vector<NodeId>& nodes) {
  std::vector<NamedDim> all;
  for (const NodeId node : nodes) all = set_union(all, graph[node].dims);
  return all;
}

std::vector<NamedDim> intersection(const std::vector<NamedDim>& a, const std::vector<NamedDim>& b) {
  std::vector<NamedDim> both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return both;
}

std::vector<NamedDim> difference(const std::vector<NamedDim>& a, const std::vector<NamedDim>& b) {
  std::vector<NamedDim> rest;
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(rest));
  return rest;
}

std::vector<NamedDim> set_union(const std::vector<NamedDim>& a, const std::vector<NamedDim>& b) {
  std::vector<NamedDim> all;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(all));
  return all;
}

bool subset(const std::vector<NamedDim>& a, const std::vector<NamedDim>& b) {
  return std::includes(b.begin(), b.end(), a.begin(), a.end());
}

std::vector<NodeId> topological(const Graph& graph, const std::vector<NodeId>& roots) {
  std::vector<NodeId> order;
  std::vector<char> state(static_cast<size_t>(graph.size()), 0);  // 1: opened, 2: done
  std::vector<NodeId> stack(roots.rbegin(), roots.rend());
  while (!stack.empty()) {
    const NodeId node = stack.back();
    char& at = state[static_cast<size_t>(node)];
    if (at == 0) {
      at = 1;
      const auto& args = graph[node].args;
      for (auto it = args.rbegin(); it != args.rend(); ++it) {
        if (state[static_cast<size_t>(*it)] == 0) stack.push_back(*it);
      }
      continue;
    }
    if (at == 1) order.push_back(node);
    at = 2;
    stack.pop_back();
  }
  return order;
}

}  // namespace coda
