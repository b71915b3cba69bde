#include "compiler/plan/pass_work.h"

#include <set>

#include "compiler/epilogue/reads.h"

namespace coda {
namespace {

class Walks {
 public:
  Walks(const EpilogueProgram& pass, const SizeHints& sizes) : graph_(pass.program.graph), sizes_(sizes) {
    for (const Statistic& statistic : pass.statistics) finished_.insert(statistic.node);
  }

  /// Of the reductions below `root`, for one element of it.
  double of(NodeId root) {
    std::set<NodeId> seen;
    return below(root, seen);
  }

 private:
  double below(NodeId id, std::set<NodeId>& seen) {
    if (finished_.contains(id) || !seen.insert(id).second) return 0;
    const Node& node = graph_[id];
    std::set<NodeId> inner;
    double count = 0;
    const bool walks = is_reduction(node);
    for (const NodeId arg : node.args) count += below(arg, walks ? inner : seen);
    return walks ? sizes_.elements(node.over) * (1 + count) : count;
  }

  const Graph& graph_;
  const SizeHints& sizes_;
  std::set<NodeId> finished_;
};

}  // namespace

double walks_within_elements(const EpilogueProgram& pass, const SizeHints& sizes) {
  Walks walks(pass, sizes);
  const double rows = sizes.elements(pass.rows);
  const auto columns = [&](int region) { return sizes.extent(pass.regions[static_cast<size_t>(region)].extent); };
  double count = 0;
  for (const Store& store : pass.stores) count += rows * columns(store.region) * walks.of(store.value);
  for (const Statistic& statistic : pass.statistics) {
    for (const Statistic::Part& part : statistic.parts) count += rows * columns(part.region) * walks.of(part.body);
  }
  return count;
}

}  // namespace coda
