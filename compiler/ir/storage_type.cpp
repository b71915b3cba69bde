#include "compiler/ir/storage_type.h"

namespace coda {

namespace {

void add_elements(const Graph& graph, NodeId id, std::set<NodeId>& elements) {
  if (!elements.insert(id).second) return;
  const Node& node = graph[id];
  if ((node.kind == NodeKind::Contract && !node.over.empty()) || node.kind == NodeKind::Reduce) return;
  for (const NodeId arg : node.args) add_elements(graph, arg, elements);
}

}  // namespace

std::set<NodeId> elements_by_distance(const Graph& graph, const std::vector<NodeId>& nodes) {
  std::set<NodeId> elements;
  for (const NodeId id : nodes) {
    const Node& node = graph[id];
    if (node.kind == NodeKind::Reduce && node.reduction->by_distance) add_elements(graph, node.args[0], elements);
  }
  return elements;
}

DType storage_type(const Program& program) {
  DType stored = DType::F32;
  bool has_matrix = false;
  for (const auto& output : program.outputs) {
    const Param& param = program.params[static_cast<size_t>(output.param)];
    has_matrix = has_matrix || param.dims.size() > 1;
    if (info(param.dtype).bits == 16) stored = param.dtype;
  }
  if (stored != DType::F32 || has_matrix) return stored;
  for (const Param& param : program.params) {
    if (param.dims.size() > 1 && info(param.dtype).bits == 16) stored = param.dtype;
  }
  return stored;
}

}  // namespace coda
