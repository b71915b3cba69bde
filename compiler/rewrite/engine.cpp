#include "compiler/rewrite/engine.h"

#include <algorithm>

namespace coda {

Rewriting LawEngine::run(
    std::vector<NodeId> roots, const LawDecisions& decisions,
    const std::function<void(const Law&, const std::vector<NodeId>&, const std::vector<NodeId>&)>& step) {
  Rewriting result{.roots = std::move(roots)};
  LawContext context(algebra, late_params, exact_params);
  while (true) {
    const auto nodes = topological(algebra.graph(), result.roots);
    context.look_at(nodes);
    const Law* law = nullptr;
    NodeId before = kNoNode;
    Alternative after;
    for (size_t n = 0; n < nodes.size() && law == nullptr; ++n) {
      for (const Law* candidate : laws) {
        const auto ways = candidate->alternatives(context, nodes[n]);
        if (ways.empty()) continue;
        const LawSite site{candidate, nodes[n]};
        const auto decision = decisions.find(site);
        const size_t wanted = decision == decisions.end() ? 0 : static_cast<size_t>(decision->second);
        if (ways.size() > 1) result.sites[site] = static_cast<int>(ways.size());
        const Alternative& way = ways[std::min(wanted, ways.size() - 1)];
        if (way.node == nodes[n]) continue;
        law = candidate;
        before = nodes[n];
        after = way;
        break;
      }
    }
    if (law == nullptr) return result;
    if (++result.fired > budget) {
      result.settled = false;
      return result;
    }
    if (law == &kReassociate) {  // symmetric: a choice made is not turned back
      for (const NodeId id : topological(algebra.graph(), {after.node})) context.settled.insert(id);
    }
    result.folded.insert(result.folded.end(), after.folded.begin(), after.folded.end());
    std::vector<NodeId> rewritten;
    for (const NodeId root : result.roots) rewritten.push_back(algebra.substitute(root, {{before, after.node}}));
    if (step) step(*law, result.roots, rewritten);
    result.roots = std::move(rewritten);
  }
}

}  // namespace coda
