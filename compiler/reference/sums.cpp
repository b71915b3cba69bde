// Contract and Reduce: demanded once a set of coordinates, chunked over the summed dimensions so that no block is
// large, contractions as matrix products of two groups of factors.
#include <algorithm>
#include <numeric>

#include "compiler/ir/meaning.h"
#include "compiler/reference/blocks.h"
#include "compiler/reference/evaluator.h"
#include "compiler/reference/gemm.h"

namespace coda {

namespace {

constexpr int64_t kRemembered = int64_t{1} << 25;  // doubles kept of finished sums: 256 MiB

struct TupleHash {
  size_t operator()(const std::vector<int64_t>& tuple) const {
    size_t hash = 1469598103934665603ull;
    for (const int64_t value : tuple) hash = (hash ^ static_cast<size_t>(value)) * 1099511628211ull;
    return hash ^ (hash >> 32);
  }
};

bool is_increasing(const std::vector<int64_t>& values) {
  return std::adjacent_find(values.begin(), values.end(), std::greater_equal<>()) == values.end();
}

/// Positions along an axis whose dimensions take coordinates seen before are dropped.
struct Distinct {
  std::vector<int64_t> firsts;       ///< positions that stay
  std::vector<int64_t> standing_in;  ///< for each old position, the new one with its coordinates
};

Distinct distinct_positions(const std::vector<Coordinates>& along, int64_t length) {
  Distinct distinct;
  std::unordered_map<std::vector<int64_t>, int64_t, TupleHash> seen;
  std::vector<int64_t> tuple(along.size());
  for (int64_t i = 0; i < length; ++i) {
    for (size_t d = 0; d < along.size(); ++d) tuple[d] = (*along[d])[i];
    const auto [it, is_new] = seen.emplace(tuple, static_cast<int64_t>(distinct.firsts.size()));
    if (is_new) distinct.firsts.push_back(i);
    distinct.standing_in.push_back(it->second);
  }
  return distinct;
}

Shape without(const Shape& shape, const Shape& removed) {
  Shape rest;
  for (size_t i = 0; i < shape.axes.size(); ++i) {
    if (removed.position(shape.axes[i]) < 0) rest.add(shape.axes[i], shape.lengths[i]);
  }
  return rest;
}

Shape joined(std::initializer_list<Shape> shapes) {
  Shape all;
  for (const Shape& shape : shapes) {
    for (size_t i = 0; i < shape.axes.size(); ++i) {
      if (all.position(shape.axes[i]) < 0) all.add(shape.axes[i], shape.lengths[i]);
    }
  }
  return all;
}

/// The two sides of a matrix product: which factors, and the output axes they span.
struct Sides {
  std::vector<size_t> factors[2];
  Shape spans[2];
};

/// The largest factor opens one side, the largest that it does not cover the other; the rest join the side that covers
/// them, or grows least.
Sides split_factors(const std::vector<Shape>& outputs) {
  std::vector<size_t> order(outputs.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return outputs[a].size() > outputs[b].size(); });
  Sides sides;
  for (const size_t factor : order) {
    const Shape& span = outputs[factor];
    auto growth = [&](int side) {
      return without(span, sides.spans[side]).axes.empty() ? 0 : joined({sides.spans[side], span}).size();
    };
    int side = growth(0) == 0 || sides.factors[0].empty() ? 0 : 1;
    if (side == 1 && !sides.factors[1].empty() && growth(1) != 0 && growth(0) < growth(1)) side = 0;
    sides.factors[side].push_back(factor);
    sides.spans[side] = joined({sides.spans[side], span});
  }
  for (auto& factors : sides.factors) std::sort(factors.begin(), factors.end());
  return sides;
}

}  // namespace

bool Evaluator::SummedKey::operator==(const SummedKey& other) const {
  return node == other.node && axis_of_dim == other.axis_of_dim &&
         std::equal(coordinates.begin(), coordinates.end(), other.coordinates.begin(), other.coordinates.end(),
                    [](const Coordinates& a, const Coordinates& b) { return a == b || *a == *b; });
}

size_t Evaluator::SummedKey::Hash::operator()(const SummedKey& key) const {
  size_t hash = static_cast<size_t>(key.node);
  for (const auto& coordinates : key.coordinates) hash = hash * 31 + TupleHash()(*coordinates);
  return hash;
}

ValuesRef Evaluator::evaluate_summed(NodeId id, const Frame& outer) {
  const Node& node = program_.graph[id];
  Frame frame = outer.restricted_to(node.dims);
  struct Taken {
    AxisId from, to;
    std::vector<int64_t> standing_in;
  };
  std::vector<Taken> taken;
  for (const Shape all = frame.shape_of(node.dims); const AxisId axis : all.axes) {
    std::vector<Coordinates> along;
    for (const auto& [dim, binding] : frame.bindings()) {
      if (binding.axis == axis) along.push_back(binding.coordinates);
    }
    if (std::any_of(along.begin(), along.end(), [](const Coordinates& c) { return is_increasing(*c); })) continue;
    Distinct distinct = distinct_positions(along, frame.length(axis));
    if (static_cast<int64_t>(distinct.firsts.size()) == frame.length(axis)) continue;
    taken.push_back({axis, new_axis(), std::move(distinct.standing_in)});
    frame = frame.with_taken(axis, distinct.firsts, taken.back().to);
  }

  SummedKey key{id, {}, {}};
  const Shape shape = frame.shape_of(node.dims);
  for (const auto& dim : node.dims) {
    key.axis_of_dim.push_back(shape.position(frame.at(dim.name).axis));
    key.coordinates.push_back(frame.at(dim.name).coordinates);
  }
  Values values;
  if (const auto it = summed_.find(key); it != summed_.end()) {
    values = *it->second;
    for (AxisId& axis : values.shape.axes) axis = shape.axes[axis];
  } else {
    values = (this->*compute_of(node.kind))(node, frame);
    Values stored = values;
    for (AxisId& axis : stored.shape.axes) axis = shape.position(axis);
    if (summed_size_ > kRemembered) {
      summed_.clear();
      summed_size_ = 0;
    }
    summed_size_ += static_cast<int64_t>(stored.data.size());
    summed_.emplace(std::move(key), std::make_shared<const Values>(std::move(stored)));
  }
  for (const Taken& t : taken) values = take(values, t.to, t.standing_in, t.from);
  return std::make_shared<const Values>(std::move(values));
}

void Evaluator::for_chunks(const Node& node, const Frame& frame, const std::vector<AxisId>& axes,
                           const std::vector<int64_t>& chunks, const std::function<void(const Frame&)>& body) {
  std::vector<int64_t> extents;
  for (const auto& dim : node.over) extents.push_back(extent(dim));
  for_each_block(extents, chunks, [&](const std::vector<int64_t>& begin, const std::vector<int64_t>& lengths) {
    Frame inside = frame.inner(node.over);
    for (size_t i = 0; i < extents.size(); ++i) {
      inside.bind(node.over[i].name, axes[i], iota_coordinates(begin[i], lengths[i]));
    }
    body(inside);
  });
}

Values Evaluator::contract(const Node& node, const Frame& frame) {
  if (node.over.empty()) return product(node, frame);
  std::set<std::string> summed;
  std::vector<AxisId> axes;
  std::vector<int64_t> extents;
  for (const auto& dim : node.over) {
    summed.insert(dim.name);
    axes.push_back(new_axis());
    extents.push_back(extent(dim));
  }
  std::vector<Shape> outputs;
  for (const NodeId factor : node.args) {
    std::vector<NamedDim> dims = program_.graph[factor].dims;
    std::erase_if(dims, [&](const NamedDim& dim) { return summed.contains(dim.name); });
    outputs.push_back(frame.shape_of(dims));
  }
  Sides sides = split_factors(outputs);
  if (sides.spans[0].size() > sides.spans[1].size()) {  // the wider side's columns are shared among the threads
    std::swap(sides.factors[0], sides.factors[1]);
    std::swap(sides.spans[0], sides.spans[1]);
  }
  const Shape columns = without(sides.spans[1], sides.spans[0]);
  const Shape batch = without(sides.spans[1], columns);
  const Shape rows = without(sides.spans[0], batch);
  const int64_t widest = std::max<int64_t>(sides.spans[1].size(), 1);
  const std::vector<int64_t> chunks = plan_block(extents, operand_block(), [&](const std::vector<int64_t>& lengths) {
    return std::accumulate(lengths.begin(), lengths.end(), widest, std::multiplies<>());
  });

  Values values{joined({batch, rows, columns}), {}};
  values.data.assign(static_cast<size_t>(values.shape.size()), 0.0);
  for_chunks(node, frame, axes, chunks, [&](const Frame& inside) {
    Shape depth;
    for (const AxisId axis : axes) depth.add(axis, inside.length(axis));
    std::vector<double> dense[2];
    for (int side = 0; side < 2; ++side) {
      std::vector<ValuesRef> factors;
      for (const size_t factor : sides.factors[side]) factors.push_back(evaluate(node.args[factor], inside));
      dense[side] = product_over(workers_, joined({batch, side == 0 ? rows : columns, depth}), factors);
    }
    accumulate_products(workers_, batch.size(), rows.size(), columns.size(), depth.size(), dense[0].data(),
                        dense[1].data(), values.data.data());
    multiply_adds_ += values.shape.size() * depth.size();
  });
  return values;
}

Values Evaluator::reduce(const Node& node, const Frame& frame) {
  std::vector<AxisId> axes;
  std::vector<int64_t> extents;
  int64_t count = 1;
  for (const auto& dim : node.over) {
    axes.push_back(new_axis());
    extents.push_back(extent(dim));
    count *= extents.back();
  }
  const Reduction& reduction = *node.reduction;
  Values values{frame.shape_of(node.dims), {}};
  const int64_t size = values.shape.size();
  const std::vector<int64_t> chunks = plan_block(extents, block(), [&](const std::vector<int64_t>& lengths) {
    return std::accumulate(lengths.begin(), lengths.end(), size, std::multiplies<>());
  });
  std::vector<double> states;
  const auto words = static_cast<size_t>(reduction.state_size);
  for (int64_t i = 0; i < size; ++i) states.insert(states.end(), reduction.identity, reduction.identity + words);
  const std::vector<NodeId> parts = lifted_parts(program_.graph, node.args[0]);
  for_chunks(node, frame, axes, chunks, [&](const Frame& inside) {
    Shape depth;
    for (const AxisId axis : axes) depth.add(axis, inside.length(axis));
    std::vector<std::vector<double>> elements;  // of each lifted value
    for (const NodeId part : parts) {
      const ValuesRef body[] = {evaluate(part, inside)};
      elements.push_back(product_over(workers_, joined({values.shape, depth}), body));
    }
    const int64_t length = depth.size();
    workers_.for_ranges(size, std::max<int64_t>(1, 4096 / length), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        for (int64_t k = 0; k < length; ++k) {
          double lifted[kMaxStateWords];
          for (size_t p = 0; p < parts.size(); ++p) lifted[p] = elements[p][i * length + k];
          reduction.lift(lifted, &states[words * i]);
        }
      }
    });
  });
  for (int64_t i = 0; i < size; ++i) {
    values.data.push_back(reduction.finish(&states[words * i], static_cast<double>(count)));
  }
  return values;
}

}  // namespace coda
