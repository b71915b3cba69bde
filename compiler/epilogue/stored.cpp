#include "compiler/epilogue/stored.h"

#include <algorithm>

#include "compiler/epilogue/describe.h"
#include "compiler/epilogue/reads.h"

namespace coda {

StoredValues::StoredValues(const Program& program, Graph& graph, const std::vector<NodeId>& values,
                           const std::vector<bool>& tile, std::vector<LawUse>& laws)
    : program_(program), graph_(graph), laws_(laws) {
  for (size_t i = 0; i < values.size(); ++i) {
    const int param = program.outputs[i].param;
    const DTypeInfo& type = info(program.params[static_cast<size_t>(param)].dtype);
    const Node& node = graph[values[i]];
    const bool narrower = type.num_class == NumClass::Real && type.bits < 32 && node.num_class == NumClass::Real;
    const bool rounded_already = node.kind == NodeKind::Cast && node.dtype == type.dtype;
    if (tile[i] && narrower && !rounded_already && node.kind != NodeKind::Input) stored_.emplace(values[i], param);
  }
}

NodeId StoredValues::rebuild(NodeId id, NodeId (StoredValues::*of)(NodeId)) {
  const Node node = graph_[id];
  std::vector<NodeId> args;
  for (const NodeId arg : node.args) args.push_back((this->*of)(arg));
  if (args == node.args) return id;
  switch (node.kind) {
    case NodeKind::Contract:
      return graph_.contract(std::move(args), node.over, node.span);
    case NodeKind::Sum:
      return graph_.sum(std::move(args), node.coefficients, node.span);
    case NodeKind::Apply:
      return graph_.apply(node.op, std::move(args), node.span);
    case NodeKind::View:
      return graph_.view(args[0], node.dim, node.map, node.span);
    case NodeKind::Put:
      return graph_.put(args[0], node.dim, node.map, node.span);
    case NodeKind::Reduce:
      return graph_.reduce(node.reduction, args[0], node.over, node.span);
    case NodeKind::Gather:
      return graph_.gather(args[0], node.dim, args[1], node.span);
    case NodeKind::Cast:
      return graph_.cast(args[0], node.dtype, node.span);
    default:
      return id;
  }
}

NodeId StoredValues::in_statistics(NodeId id) {
  if (stored_.empty()) return id;
  if (const auto it = in_statistics_.find(id); it != in_statistics_.end()) return it->second;
  const bool statistic = is_reduction(graph_[id]);
  const NodeId result = rebuild(id, statistic ? &StoredValues::rounded : &StoredValues::in_statistics);
  return in_statistics_[id] = result;
}

NodeId StoredValues::rounded(NodeId id) {
  if (const auto it = rounded_.find(id); it != rounded_.end()) return it->second;
  NodeId result = id;
  auto round = [&](NodeId value, int param) {
    const Param& p = program_.params[static_cast<size_t>(param)];
    laws_.push_back({"statistic as stored",
                     "the statistic takes " + p.name + " rounded to " + std::string(info(p.dtype).name) + ", as stored",
                     graph_[value].span});
    return graph_.cast(value, p.dtype, graph_[value].span);
  };
  if (const auto it = stored_.find(id); it != stored_.end()) {
    result = round(id, it->second);
  } else if (graph_[id].kind == NodeKind::Contract) {
    // Products are kept flat: a stored product may be some of the factors, more than once.
    Node node = graph_[id];
    std::vector<NodeId> args = node.args;
    for (const auto& [value, param] : stored_) {
      const Node stored = graph_[value];
      if (stored.kind != NodeKind::Contract || !stored.over.empty() || stored.args.size() < 2) continue;
      while (std::includes(args.begin(), args.end(), stored.args.begin(), stored.args.end())) {
        std::vector<NodeId> rest;
        std::set_difference(args.begin(), args.end(), stored.args.begin(), stored.args.end(), std::back_inserter(rest));
        rest.push_back(round(value, param));
        std::sort(rest.begin(), rest.end());
        args = std::move(rest);
      }
    }
    const NodeId replaced = args == node.args ? id : graph_.contract(args, node.over, node.span);
    // What was put in is a cast: it is not looked into again.
    for (const NodeId arg : args) {
      if (graph_[arg].kind == NodeKind::Cast && stored_.contains(graph_[arg].args[0])) rounded_[arg] = arg;
    }
    result = rebuild(replaced, &StoredValues::rounded);
  } else {
    result = rebuild(id, &StoredValues::rounded);
  }
  return rounded_[id] = result;
}

}  // namespace coda
