#include "compiler/ir/remake.h"

#include <utility>

namespace coda {

NodeId remake(Graph& graph, const Node& node, std::vector<NodeId> args) {
  switch (node.kind) {
    case NodeKind::Input:
      return graph.input(node.param, node.dims, node.num_class, node.span);
    case NodeKind::Constant:
      return graph.constant(node.value, node.num_class);
    case NodeKind::Index:
      return graph.index(node.dim);
    case NodeKind::Extent:
      return graph.extent(node.map.offset);
    case NodeKind::Contract:
      return graph.contract(std::move(args), node.over, node.span);
    case NodeKind::Sum:
      return graph.sum(std::move(args), node.coefficients, node.span);
    case NodeKind::Apply:
      return graph.apply(node.op, std::move(args), node.span);
    case NodeKind::View:
      return graph.view(args[0], node.dim, node.map, node.span);
    case NodeKind::Put:
      return graph.put(args[0], node.dim, node.map, node.span);
    case NodeKind::Reduce:
      return graph.reduce(node.reduction, args[0], node.over, node.span);
    case NodeKind::Gather:
      return graph.gather(args[0], node.dim, args[1], node.span);
    case NodeKind::Cast:
      return graph.cast(args[0], node.dtype, node.span);
  }
  return kNoNode;
}

}  // namespace coda
