#include "tools/codac/other_side.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "compiler/ir/remake.h"

namespace coda {
namespace {

/// Rows of fewer elements are no scale for themselves; as for what is stored.
constexpr int64_t kFewElements = 8;

/// How values move: by how much of their error, and which of them up.
struct Way {
  enum class Sign : uint8_t { Up, Outward, Random } sign;
  double part;
};
/// Parts of the error matter where it is more than the distance between two edges. Random ones are for outputs made of
/// several decisions.
constexpr Way kWays[] = {
    {Way::Sign::Up, 1},       {Way::Sign::Up, -1},       {Way::Sign::Outward, 1}, {Way::Sign::Outward, -1},
    {Way::Sign::Up, 0.75},    {Way::Sign::Up, -0.75},    {Way::Sign::Up, 0.5},    {Way::Sign::Up, -0.5},
    {Way::Sign::Up, 0.25},    {Way::Sign::Up, -0.25},    {Way::Sign::Random, 1},  {Way::Sign::Random, -1},
    {Way::Sign::Random, 1},   {Way::Sign::Random, -1},   {Way::Sign::Random, 1},  {Way::Sign::Random, -1},
    {Way::Sign::Random, 0.5}, {Way::Sign::Random, -0.5}, {Way::Sign::Random, 1},  {Way::Sign::Random, -1},
    {Way::Sign::Random, 1},   {Way::Sign::Random, -1},   {Way::Sign::Random, 1},  {Way::Sign::Random, -1}};

/// Whether the reduction gives one of its elements, its magnitude or a truth: then it adds no error of its own. Tried
/// on numbers that no arithmetic makes of one another.
bool selects(const Reduction& reduction) {
  if (reduction.result != NumClass::Real) return true;
  const double given[2][kMaxStateWords] = {{-0.7, 0.31, 0.113, -0.219}, {0.43, -0.57, 0.871, 0.0643}};
  for (const int first : {0, 1}) {
    double state[kMaxStateWords];
    std::copy_n(reduction.identity, kMaxStateWords, state);
    reduction.lift(given[first], state);
    reduction.lift(given[1 - first], state);
    const double result = std::abs(reduction.finish(state, 2));
    const int words = reduction.arity();
    const auto is_result = [&](double word) { return std::abs(word) == result; };
    if (!std::any_of(given[0], given[0] + words, is_result) && !std::any_of(given[1], given[1] + words, is_result)) {
      return false;
    }
  }
  return true;
}

/// Whether it rounds to whole numbers: no other op is piecewise constant and exact.
bool makes_whole(const Op& op) { return op.grad[0] == "0" && op.ulp == 0; }

/// By node: whether it is a whole number, whose sums and products are exact.
std::vector<bool> whole_numbers(const Graph& graph) {
  std::vector<bool> whole;
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph[id];
    const auto is_whole = [&](NodeId arg) { return bool{whole[static_cast<size_t>(arg)]}; };
    const bool of_whole = std::all_of(node.args.begin(), node.args.end(), is_whole);
    bool result = false;
    if (node.num_class != NumClass::Real) {
      result = true;
    } else if (node.kind == NodeKind::Constant) {
      result = node.value == std::nearbyint(node.value);
    } else if (node.kind == NodeKind::Sum) {
      result = of_whole && std::all_of(node.coefficients.begin(), node.coefficients.end(),
                                       [](double c) { return c == std::nearbyint(c); });
    } else if (node.kind == NodeKind::Apply) {
      result = makes_whole(*node.op) || (of_whole && (node.op->ulp == 0 || node.op->packs));
    } else if (node.kind == NodeKind::Reduce) {
      result = of_whole && selects(*node.reduction);
    } else if (node.kind != NodeKind::Input) {
      result = of_whole;
    }
    whole.push_back(result);
  }
  return whole;
}

/// By node: whether it is as exact as its arguments.
std::vector<bool> exact_steps(const Graph& graph) {
  std::vector<bool> exact = whole_numbers(graph);
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph[id];
    bool step = node.kind != NodeKind::Contract;
    if (node.kind == NodeKind::Sum) step = node.args.size() == 1 && std::abs(node.coefficients[0]) == 1;
    if (node.kind == NodeKind::Apply) step = node.op->ulp == 0 || node.op->packs;
    if (node.kind == NodeKind::Reduce) step = selects(*node.reduction);
    if (step) exact[static_cast<size_t>(id)] = true;
  }
  return exact;
}

/// Whether its result jumps where its arguments pass an edge.
bool decides(const Graph& graph, const Node& node) {
  const bool of_reals = std::any_of(node.args.begin(), node.args.end(),
                                    [&](NodeId arg) { return graph[arg].num_class == NumClass::Real; });
  if (node.kind == NodeKind::Cast) return of_reals;
  if (node.kind == NodeKind::Reduce)
    return node.reduction->result != NumClass::Real || node.reduction->custom != nullptr;
  if (node.kind != NodeKind::Apply || !of_reals) return false;
  return node.op->rule == ClassRule::Compare || node.op->rule == ClassRule::ToInt || makes_whole(*node.op);
}

/// `root` and all nodes below it, by ways that lead through such nodes.
template <typename Through>
std::set<NodeId> reached(const Graph& graph, NodeId root, Through through) {
  std::set<NodeId> seen{root};
  std::vector<NodeId> stack{root};
  while (!stack.empty()) {
    const NodeId id = stack.back();
    stack.pop_back();
    if (id != root && !through(id)) continue;
    for (const NodeId arg : graph[id].args) {
      if (seen.insert(arg).second) stack.push_back(arg);
    }
  }
  return seen;
}

/// Values that were computed in f32 and reach a decision by exact steps only.
std::set<NodeId> decided_values(const Graph& graph, NodeId root) {
  const std::vector<bool> exact = exact_steps(graph);
  const auto is_exact = [&](NodeId id) { return bool{exact[static_cast<size_t>(id)]}; };
  std::set<NodeId> values;
  for (const NodeId id : reached(graph, root, [](NodeId) { return true; })) {
    if (!decides(graph, graph[id])) continue;
    for (const NodeId below : reached(graph, id, is_exact)) {
      if (below != id && !is_exact(below)) values.insert(below);
    }
  }
  return values;
}

NodeId whole(Graph& graph, int64_t value) { return graph.constant(static_cast<double>(value), NumClass::Int); }

/// 1 or -1, another for each element of `value` and each `seed`.
NodeId random_sign(Graph& graph, std::vector<NamedDim> dims, int64_t seed) {
  std::vector<NodeId> places{whole(graph, 0)};
  std::vector<double> strides{1};
  double stride = 1;
  for (const NamedDim& dim : dims) {
    places.push_back(graph.index(dim));
    strides.push_back(stride);
    stride *= 8191;
  }
  const NodeId bits =
      graph.apply(find_op("random_bits"), {graph.sum(places, strides), whole(graph, seed), whole(graph, 0)});
  const NodeId low = graph.apply(find_op("lt"), {bits, whole(graph, int64_t{1} << 31)});
  return graph.apply(find_op("select"), {low, graph.constant(1), graph.constant(-1)});
}

/// `value` moved by a part of its error.
NodeId moved(Graph& graph, NodeId value, NodeId scale, const ErrorBound& bound, const Way& way, int64_t seed) {
  const NodeId magnitude = graph.apply(find_op("abs"), {value});
  const NodeId error = graph.sum({magnitude, scale}, {bound.relative, bound.scaled});
  const NodeId sign = way.sign == Way::Sign::Up        ? graph.constant(1)
                      : way.sign == Way::Sign::Outward ? graph.apply(find_op("sign"), {value})
                                                       : random_sign(graph, graph[value].dims, seed);
  return graph.sum({value, graph.contract({sign, error}, {})}, {1, way.part});
}

/// The mean square of the finite elements of `value` over `over`.
NodeId mean_square(Graph& graph, NodeId value, const std::vector<NamedDim>& over, double count) {
  const NodeId finite = graph.apply(find_op("is_finite"), {value});
  const NodeId kept = graph.apply(find_op("select"), {finite, value, graph.constant(0)});
  return graph.sum({graph.contract({kept, kept}, over)}, {1 / count});
}

}  // namespace

std::optional<DType> coarsest_in_sums(const Graph& graph, NodeId value) {
  std::optional<DType> coarsest;
  for (const NodeId id : reached(graph, value, [](NodeId) { return true; })) {
    const Node& node = graph[id];
    const bool sums = (node.kind == NodeKind::Contract && !node.over.empty()) ||
                      (node.kind == NodeKind::Reduce && !selects(*node.reduction));
    if (!sums) continue;
    for (const NodeId below : reached(graph, id, [](NodeId) { return true; })) {
      const Node& cast = graph[below];
      if (cast.kind != NodeKind::Cast || info(cast.dtype).num_class != NumClass::Real) continue;
      if (!coarsest || info(cast.dtype).mantissa_bits < info(*coarsest).mantissa_bits) coarsest = cast.dtype;
    }
  }
  return coarsest;
}

Expected<OtherSide> OtherSide::make(const Program& program, const Bindings& dims, std::vector<ReferenceInput> inputs,
                                    int output, std::vector<int64_t> rows, const BoundOf& bound_of) {
  OtherSide side;
  side.program_ = &program;
  side.dims_ = dims;
  side.inputs_ = std::move(inputs);
  side.output_ = output;
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  const Program::Output& out = program.outputs[static_cast<size_t>(output)];
  const std::vector<NamedDim>& stored = program.params[static_cast<size_t>(out.param)].dims;

  Program scales = program;
  scales.outputs.clear();
  for (const NodeId value : decided_values(program.graph, out.value)) {
    Edge edge{value, bound_of(coarsest_in_sums(program.graph, value)), {}, {}};
    std::vector<NamedDim> rest;
    double in_row = 1, in_all = 1;
    for (const NamedDim& dim : program.graph[value].dims) {
      const auto extent = dim.extent.evaluate(dims);
      const bool is_row = !stored.empty() && dim == stored[0];
      if (is_row) edge.scale_dims.push_back(dim);
      if (!is_row) rest.push_back(dim);
      in_all *= static_cast<double>(extent.value_or(0));
      if (!is_row) in_row *= static_cast<double>(extent.value_or(0));
    }
    if (in_all == 0) continue;
    if (in_row < kFewElements) {
      edge.scale_dims.clear();
      rest = program.graph[value].dims;
      in_row = in_all;
    }
    Param param{.name = "scale of " + std::to_string(value), .role = Param::Role::Out, .dims = edge.scale_dims};
    scales.params.push_back(std::move(param));
    scales.outputs.push_back({.param = static_cast<int>(scales.params.size()) - 1,
                              .value = mean_square(scales.graph, value, rest, in_row),
                              .span = {}});
    side.edges_.push_back(std::move(edge));
  }
  if (side.edges_.empty()) return side;

  auto reference = Reference::make(scales, dims, side.inputs_);
  if (!reference) return reference.status();
  for (size_t i = 0; i < side.edges_.size(); ++i) {
    Edge& edge = side.edges_[i];
    std::vector<std::vector<int64_t>> coordinates;
    if (edge.scale_dims.empty()) {
      coordinates.push_back({});
      edge.scale.resize(1);
    } else {
      for (const int64_t row : rows) coordinates.push_back({row});
      // Rows that nobody asks for are not needed; values of them that a view brings in move by less.
      edge.scale.resize(static_cast<size_t>(*edge.scale_dims[0].extent.evaluate(dims)));
    }
    auto squares = reference->evaluate(static_cast<int>(i), coordinates);
    if (!squares) return squares.status();
    for (size_t at = 0; at < coordinates.size(); ++at) {
      const auto place = coordinates[at].empty() ? 0 : static_cast<size_t>(coordinates[at][0]);
      edge.scale[place] = static_cast<float>(std::sqrt((*squares)[at]));
    }
  }
  return side;
}

int OtherSide::ways() const { return edges_.empty() ? 0 : static_cast<int>(std::size(kWays)); }

Expected<std::vector<double>> OtherSide::evaluate(int way, const std::vector<std::vector<int64_t>>& coordinates) const {
  Program changed = *program_;
  changed.graph = Graph();
  changed.value_names.clear();
  std::vector<ReferenceInput> inputs = inputs_;
  inputs.resize(changed.params.size());
  std::vector<NodeId> made;
  size_t next = 0;
  for (NodeId id = 0; id < program_->graph.size(); ++id) {
    std::vector<NodeId> args;
    for (const NodeId arg : program_->graph[id].args) args.push_back(made[static_cast<size_t>(arg)]);
    NodeId node = remake(changed.graph, program_->graph[id], std::move(args));
    if (next < edges_.size() && edges_[next].value == id) {
      const Edge& edge = edges_[next++];
      Param param{.name = "scale of " + std::to_string(id), .role = Param::Role::In, .dims = edge.scale_dims};
      const auto scale = changed.graph.input(static_cast<int>(changed.params.size()), param.dims, NumClass::Real, {});
      changed.params.push_back(std::move(param));
      ReferenceInput input{.data = edge.scale.data(), .dtype = DType::F32};
      if (!edge.scale_dims.empty()) input.shape = {static_cast<int64_t>(edge.scale.size())}, input.strides = {1};
      inputs.push_back(std::move(input));
      node = moved(changed.graph, node, scale, edge.bound, kWays[way], way / 2 * int64_t{1000003} + id);
    }
    made.push_back(node);
  }
  for (Program::Output& out : changed.outputs) out.value = made[static_cast<size_t>(out.value)];
  auto reference = Reference::make(changed, dims_, std::move(inputs));
  if (!reference) return reference.status();
  return reference->evaluate(output_, coordinates);
}

}  // namespace coda
