#include "compiler/epilogue/operand.h"

#include <algorithm>
#include <map>

namespace coda {

namespace {

using AxesOf = std::map<std::string, std::vector<int>>;

std::optional<AxesOf> axes_of(const Program& program, const Graph& graph, NodeId id, int& param) {
  const Node& node = graph[id];
  AxesOf axes;
  if (node.kind == NodeKind::Input) {
    param = node.param;
    const auto& dims = program.params[static_cast<size_t>(param)].dims;
    for (size_t axis = 0; axis < dims.size(); ++axis) axes[dims[axis].name] = {static_cast<int>(axis)};
    return axes;
  }
  if (node.kind != NodeKind::View && node.kind != NodeKind::Put) return std::nullopt;
  auto inner = axes_of(program, graph, node.args[0], param);
  if (!inner) return std::nullopt;
  axes = *inner;
  if (node.kind == NodeKind::View) {
    const auto renamed = as_dimension(node.map);
    if (!renamed || !(renamed->extent == node.dim.extent)) return std::nullopt;
    axes.erase(node.dim.name);
    axes[renamed->name] = (*inner)[node.dim.name];
    return axes;
  }
  const auto digits = whole_regrouping(node.map, node.dim.extent);
  if (!digits) return std::nullopt;
  auto& joined = axes[node.dim.name];
  joined.clear();
  for (const auto& digit : *digits) {
    joined.insert(joined.end(), (*inner)[digit.name].begin(), (*inner)[digit.name].end());
    if (digit.name != node.dim.name) axes.erase(digit.name);
  }
  return axes;
}

}  // namespace

std::vector<int> OperandShape::outer_axes() const {
  std::vector<int> all;
  for (const auto& list : axes) all.insert(all.end(), list.begin(), list.end());
  return all;
}

GemmOperand OperandShape::operand() const {
  if (index_param < 0) return {param, outer_axes(), depth_axis, batch_axes, outer_depth_axes, -1, {}};
  return {param, {gathered_axis}, depth_axis, {}, outer_depth_axes, index_param, outer_axes()};
}

bool OperandShape::take_batch(const std::vector<NamedDim>& batch) {
  if (index_param >= 0 && !batch.empty()) return false;
  for (const NamedDim& dim : batch) {
    const auto it = std::find(own.begin(), own.end(), dim);
    if (it == own.end()) return false;
    const auto at = axes.begin() + (it - own.begin());
    batch_axes.insert(batch_axes.end(), at->begin(), at->end());
    axes.erase(at);
    own.erase(it);
  }
  return true;
}

namespace {

/// Rows of a matrix at the places that a parameter holds: nothing else of either.
std::optional<OperandShape> gathered_shape(const Program& program, const Graph& graph, const Node& gather,
                                           const NamedDim& depth) {
  auto shape = operand_shape(program, graph, gather.args[0], depth);
  int index = -1;
  const auto index_axes = axes_of(program, graph, gather.args[1], index);
  if (!shape || !index_axes || shape->own.size() != 1 || shape->axes[0].size() != 1) return std::nullopt;
  const std::vector<NamedDim>& dims = graph[gather.args[1]].dims;
  if (shape->index_param >= 0 || !(shape->own[0] == gather.dim) || dims.empty()) return std::nullopt;
  shape->gathered_axis = shape->axes[0][0];
  shape->index_param = index;
  shape->own = dims;
  shape->axes.clear();
  std::sort(shape->own.begin(), shape->own.end(), [&](const NamedDim& a, const NamedDim& b) {
    return index_axes->at(a.name).front() < index_axes->at(b.name).front();
  });
  for (const NamedDim& dim : shape->own) shape->axes.push_back(index_axes->at(dim.name));
  return shape;
}

}  // namespace

std::optional<OperandShape> operand_shape(const Program& program, const Graph& graph, NodeId node,
                                          const NamedDim& depth) {
  if (graph[node].kind == NodeKind::Gather) return gathered_shape(program, graph, graph[node], depth);
  OperandShape shape;
  const auto axes = axes_of(program, graph, node, shape.param);
  if (!axes) return std::nullopt;
  const auto& depth_axes = axes->at(depth.name);
  if (depth_axes.empty()) return std::nullopt;
  shape.depth_axis = depth_axes.back();
  shape.outer_depth_axes.assign(depth_axes.begin(), depth_axes.end() - 1);
  for (const auto& dim : graph[node].dims) {
    if (!(dim == depth)) shape.own.push_back(dim);
  }
  std::sort(shape.own.begin(), shape.own.end(),
            [&](const NamedDim& a, const NamedDim& b) { return axes->at(a.name).front() < axes->at(b.name).front(); });
  for (const auto& dim : shape.own) shape.axes.push_back(axes->at(dim.name));
  return shape;
}

std::optional<std::vector<NamedDim>> whole_regrouping(const AffineMap& map, const Dim& extent) {
  if (!map.offset.is_zero() || map.terms.empty()) return std::nullopt;
  // Innermost first: the one whose stride is the product of the extents found so far.
  std::vector<NamedDim> digits;
  Dim stride(1);
  std::vector<AffineMap::Term> left = map.terms;
  while (!left.empty()) {
    // An extent of 1 leaves the product as it is: two digits may have one stride, in either order.
    const auto it = std::find_if(left.begin(), left.end(), [&](const auto& term) { return term.stride == stride; });
    if (it == left.end()) return std::nullopt;
    digits.insert(digits.begin(), it->dim);
    stride = stride * it->dim.extent;
    left.erase(it);
  }
  if (!(stride == extent)) return std::nullopt;
  return digits;
}

}  // namespace coda
