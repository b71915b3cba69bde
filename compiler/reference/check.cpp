// What must hold before a program is evaluated: every extent has a value, every array is there and fits its parameter,
// and every index map stays inside its dimension.
#include <algorithm>

#include "compiler/reference/evaluator.h"

namespace coda {

namespace {

Status invalid(std::string message) { return Status(Code::InvalidArgument, std::move(message)); }

}  // namespace

Status Evaluator::check() {
  std::vector<NodeId> pending;
  for (const auto& output : program_.outputs) {
    for (const auto& dim : program_.params[output.param].dims) {
      const auto extent = dim.extent.evaluate(bindings_);
      if (!extent || *extent < 0) {
        return invalid("dimension " + dim.name + " of " + program_.params[output.param].name + " has no extent here");
      }
    }
    pending.push_back(output.value);
  }
  std::vector<bool> seen(static_cast<size_t>(program_.graph.size()), false);
  while (!pending.empty()) {
    const NodeId id = pending.back();
    pending.pop_back();
    if (seen[id]) continue;
    seen[id] = true;
    const Node& node = program_.graph[id];
    if (Status status = check_node(node); !status.ok()) return status;
    pending.insert(pending.end(), node.args.begin(), node.args.end());
  }
  return {};
}

Status Evaluator::check_node(const Node& node) const {
  std::vector<NamedDim> dims = node.dims;
  dims.insert(dims.end(), node.over.begin(), node.over.end());
  const bool has_map = node.kind == NodeKind::View || node.kind == NodeKind::Put;
  if (has_map || node.kind == NodeKind::Gather) dims.push_back(node.dim);
  for (const auto& term : node.map.terms) dims.push_back(term.dim);
  for (const auto& dim : dims) {
    const auto extent = dim.extent.evaluate(bindings_);
    if (!extent) return invalid("the extent " + dim.extent.text() + " of dimension " + dim.name + " has no value here");
    if (*extent < 0) return invalid("dimension " + dim.name + " has the negative extent " + std::to_string(*extent));
  }
  if (node.kind == NodeKind::Extent && !node.map.offset.evaluate(bindings_)) {
    return invalid("the extent " + node.map.offset.text() + " has no value here");
  }
  if (node.kind == NodeKind::Input) return check_input(node);
  if (!has_map) return {};

  const auto offset = node.map.offset.evaluate(bindings_);
  if (!offset) return invalid("the offset " + node.map.offset.text() + " has no value here");
  int64_t low = *offset, high = *offset;
  for (const auto& term : node.map.terms) {
    const auto stride = term.stride.evaluate(bindings_);
    if (!stride) return invalid("the stride " + term.stride.text() + " has no value here");
    if (extent(term.dim) == 0) return {};  // no element, nothing to leave
    (*stride < 0 ? low : high) += *stride * (extent(term.dim) - 1);
  }
  // A view of nothing but a constant coordinate still reads it, unless the result is empty for another reason.
  const bool is_empty = std::any_of(node.dims.begin(), node.dims.end(), [&](const auto& d) { return extent(d) == 0; });
  if (!is_empty && (low < 0 || high >= extent(node.dim))) {
    return invalid("an index map reaches [" + std::to_string(low) + ", " + std::to_string(high) + "] in dimension " +
                   node.dim.name + ", whose extent is " + std::to_string(extent(node.dim)));
  }
  return {};
}

Status Evaluator::check_input(const Node& node) const {
  const Param& param = program_.params[node.param];
  const ReferenceInput& given = inputs_[node.param];
  if (param.role == Param::Role::Scalar && given.data == nullptr) return {};
  if (given.dtype != param.dtype) {
    return invalid("parameter " + param.name + " is " + std::string(info(param.dtype).name) + ", but was given " +
                   std::string(info(given.dtype).name));
  }
  if (given.shape.size() != param.dims.size() || given.strides.size() != param.dims.size()) {
    return invalid("parameter " + param.name + " has " + std::to_string(param.dims.size()) +
                   " dimensions, but was given " + std::to_string(given.shape.size()) + " extents and " +
                   std::to_string(given.strides.size()) + " strides");
  }
  bool is_empty = false;
  for (size_t d = 0; d < param.dims.size(); ++d) {
    const int64_t expected = extent(param.dims[d]);
    is_empty = is_empty || expected == 0;
    if (given.shape[d] != expected) {
      return invalid("dimension " + param.dims[d].name + " of parameter " + param.name + " is " +
                     std::to_string(expected) + " here, but the array given has " + std::to_string(given.shape[d]));
    }
  }
  if (given.data == nullptr && !is_empty) return invalid("parameter " + param.name + " was given no data");
  return {};
}

}  // namespace coda
