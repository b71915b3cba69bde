#include "compiler/reference/evaluator.h"

#include <algorithm>

#include "compiler/ir/meaning.h"

namespace coda {

namespace {

double apply_element(const Node& node, std::span<const double> args) {
  return apply_op(*node.op, args, node.num_class);
}
double cast_element(const Node& node, std::span<const double> args) { return round_to(args[0], node.dtype); }
double sum_element(const Node& node, std::span<const double> args) {
  return linear_combination(args, node.coefficients);
}

}  // namespace

Evaluator::Compute Evaluator::compute_of(NodeKind kind) {
  static const std::map<NodeKind, Compute> table = {
      {NodeKind::Input, &Evaluator::input},       {NodeKind::Constant, &Evaluator::constant},
      {NodeKind::Extent, &Evaluator::constant},   {NodeKind::Index, &Evaluator::index},
      {NodeKind::Contract, &Evaluator::contract}, {NodeKind::Sum, &Evaluator::sum},
      {NodeKind::Apply, &Evaluator::apply},       {NodeKind::View, &Evaluator::view},
      {NodeKind::Put, &Evaluator::put},           {NodeKind::Reduce, &Evaluator::reduce},
      {NodeKind::Gather, &Evaluator::gather},     {NodeKind::Cast, &Evaluator::cast},
  };
  return table.at(kind);
}

ValuesRef Evaluator::evaluate(NodeId id, const Frame& frame) {
  const Node& node = program_.graph[id];
  // A node without rebound dimensions is the same in the frame around this one.
  const Frame* home = &frame;
  auto is_rebound = [&](const NamedDim& dim) { return home->rebound.contains(dim.name); };
  while (home->outer != nullptr && std::none_of(node.dims.begin(), node.dims.end(), is_rebound)) home = home->outer;

  if (const auto it = home->memo.find(id); it != home->memo.end()) return it->second;
  const bool is_summed = node.kind == NodeKind::Reduce || !node.over.empty();
  ValuesRef values;
  if (Shape shape = home->shape_of(node.dims); shape.size() == 0) {
    values = std::make_shared<const Values>(Values{std::move(shape), {}});
  } else if (is_summed) {
    values = evaluate_summed(id, *home);
  } else {
    values = std::make_shared<const Values>((this->*compute_of(node.kind))(node, *home));
  }
  home->memo[id] = values;
  return values;
}

std::vector<ValuesRef> Evaluator::evaluate_args(const Node& node, const Frame& frame) {
  std::vector<ValuesRef> args;
  for (const NodeId arg : node.args) args.push_back(evaluate(arg, frame));
  return args;
}

Values Evaluator::input(const Node& node, const Frame& frame) {
  const Param& param = program_.params[node.param];
  const ReferenceInput& given = inputs_[node.param];
  if (param.role == Param::Role::Scalar && given.data == nullptr) return {{}, {round_to(given.scalar, param.dtype)}};

  // How far each position of each axis is from the start of the array.
  Shape shape = frame.shape_of(node.dims);
  std::vector<std::vector<int64_t>> offsets;
  for (const int64_t length : shape.lengths) offsets.emplace_back(static_cast<size_t>(length), 0);
  for (size_t d = 0; d < param.dims.size(); ++d) {
    const Binding& binding = frame.at(param.dims[d].name);
    auto& axis = offsets[shape.position(binding.axis)];
    for (size_t i = 0; i < axis.size(); ++i) axis[i] += (*binding.coordinates)[i] * given.strides[d];
  }
  // Neighbours in memory go last.
  for (size_t a = 0; a + 1 < offsets.size(); ++a) {
    if (offsets[a].size() < 2 || offsets[a][1] - offsets[a][0] != 1) continue;
    std::swap(offsets[a], offsets.back());
    std::swap(shape.axes[a], shape.axes.back());
    std::swap(shape.lengths[a], shape.lengths.back());
    break;
  }
  bool is_contiguous = !offsets.empty();
  for (size_t i = 1; is_contiguous && i < offsets.back().size(); ++i) {
    is_contiguous = offsets.back()[i] == offsets.back()[i - 1] + 1;
  }
  Values values{shape, std::vector<double>(static_cast<size_t>(shape.size()))};
  walk(workers_, shape, {}, [&](int64_t first, int64_t count, const int64_t*, const int64_t*) {
    double* out = values.data.data() + first;
    if (offsets.empty()) {
      out[0] = load_element(given.data, given.dtype, 0);
      return;
    }
    const auto& last = offsets.back();
    const auto length = static_cast<int64_t>(last.size());
    int64_t start = 0, rest = first / length;
    for (size_t a = offsets.size() - 1; a-- > 0;) {
      start += offsets[a][rest % shape.lengths[a]];
      rest /= shape.lengths[a];
    }
    const int64_t* at = last.data() + first % length;
    if (is_contiguous) {
      load_elements(given.data, given.dtype, start + at[0], 1, count, out);
    } else {
      for (int64_t i = 0; i < count; ++i) out[i] = load_element(given.data, given.dtype, start + at[i]);
    }
  });
  return values;
}

Values Evaluator::constant(const Node& node, const Frame&) {
  if (node.kind == NodeKind::Constant) return {{}, {node.value}};
  return {{}, {static_cast<double>(value_of(node.map.offset))}};
}

Values Evaluator::index(const Node& node, const Frame& frame) {
  const Binding& binding = frame.at(node.dim.name);
  Values values;
  values.shape.add(binding.axis, frame.length(binding.axis));
  values.data.assign(binding.coordinates->begin(), binding.coordinates->end());
  return values;
}

Values Evaluator::elementwise(const Node& node, const Frame& frame,
                              double (*element)(const Node&, std::span<const double>)) {
  const std::vector<ValuesRef> args = evaluate_args(node, frame);
  Values values{broadcast_shape(args), {}};
  values.data.resize(static_cast<size_t>(values.shape.size()));
  walk(workers_, values.shape, args, [&](int64_t first, int64_t count, const int64_t* offsets, const int64_t* steps) {
    std::vector<double> elements(args.size());
    for (int64_t i = 0; i < count; ++i) {
      for (size_t k = 0; k < args.size(); ++k) elements[k] = args[k]->data[offsets[k] + i * steps[k]];
      values.data[first + i] = element(node, elements);
    }
  });
  return values;
}

Values Evaluator::sum(const Node& node, const Frame& frame) { return elementwise(node, frame, sum_element); }
Values Evaluator::apply(const Node& node, const Frame& frame) { return elementwise(node, frame, apply_element); }
Values Evaluator::cast(const Node& node, const Frame& frame) { return elementwise(node, frame, cast_element); }

Values Evaluator::product(const Node& node, const Frame& frame) {
  const std::vector<ValuesRef> args = evaluate_args(node, frame);
  Values values{broadcast_shape(args), {}};
  values.data = product_over(workers_, values.shape, args);
  return values;
}

}  // namespace coda
