// View, Put and Gather: each turns the frame it is asked in into the frame its argument is asked in.
#include <algorithm>

#include "compiler/reference/evaluator.h"

namespace coda {

namespace {

struct Digit {
  int64_t stride, extent;
};

/// Calls found(digits) for all digits with sum of stride * digit = rest. Digits are by falling |stride|, so that for a
/// mixed-radix map at most one value of each is tried.
template <typename Found>
void solve(const std::vector<Digit>& digits, int64_t rest, std::vector<int64_t>& chosen, const Found& found) {
  const size_t at = chosen.size();
  if (at == digits.size()) {
    if (rest == 0) found(chosen);
    return;
  }
  int64_t low = 0, high = 0;  // what the digits after this one can reach
  for (size_t i = at + 1; i < digits.size(); ++i) {
    const int64_t reach = digits[i].stride * (digits[i].extent - 1);
    (reach < 0 ? low : high) += reach;
  }
  const int64_t stride = digits[at].stride;
  int64_t first = 0, last = digits[at].extent - 1;
  if (stride != 0) {
    // rest - stride * digit must lie in [low, high].
    const double a = static_cast<double>(rest - high) / static_cast<double>(stride);
    const double b = static_cast<double>(rest - low) / static_cast<double>(stride);
    first = std::max(first, static_cast<int64_t>(std::min(a, b)) - 1);
    last = std::min(last, static_cast<int64_t>(std::max(a, b)) + 1);
  }
  for (int64_t digit = first; digit <= last; ++digit) {
    const int64_t remaining = rest - stride * digit;
    if (remaining < low || remaining > high) continue;
    chosen.push_back(digit);
    solve(digits, remaining, chosen, found);
    chosen.pop_back();
  }
}

std::vector<NamedDim> dims_of(const AffineMap& map) {
  std::vector<NamedDim> dims;
  for (const auto& term : map.terms) dims.push_back(term.dim);
  return dims;
}

std::set<std::string> names_of(const std::vector<NamedDim>& dims) {
  std::set<std::string> names;
  for (const auto& dim : dims) names.insert(dim.name);
  return names;
}

Coordinates shared(std::vector<int64_t> coordinates) {
  return std::make_shared<const std::vector<int64_t>>(std::move(coordinates));
}

}  // namespace

Values Evaluator::view(const Node& node, const Frame& frame) {
  // The replaced dimension's coordinate depends on all axes of the map's dimensions: they become one.
  const std::vector<NamedDim> terms = dims_of(node.map);
  const Shape parts = frame.shape_of(terms);
  const AxisId merged = new_axis();
  const Frame at_terms = frame.restricted_to(terms).with_merged(parts, merged);
  std::vector<int64_t> coordinates(static_cast<size_t>(parts.size()), value_of(node.map.offset));
  for (const auto& term : node.map.terms) {
    const int64_t stride = value_of(term.stride);
    const auto& along = *at_terms.at(term.dim.name).coordinates;
    for (size_t i = 0; i < coordinates.size(); ++i) coordinates[i] += stride * along[i];
  }
  const NodeId x = node.args[0];
  Frame inside = frame.restricted_to(program_.graph[x].dims, {node.dim.name}).with_merged(parts, merged);
  inside.bind(node.dim.name, merged, shared(std::move(coordinates)));
  return split_axis(*evaluate(x, inside), merged, parts);
}

Values Evaluator::put(const Node& node, const Frame& frame) {
  std::vector<size_t> order(node.map.terms.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::vector<Digit> given;
  for (const auto& term : node.map.terms) given.push_back({value_of(term.stride), extent(term.dim)});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return std::abs(given[a].stride) > std::abs(given[b].stride); });
  std::vector<Digit> digits;
  for (const size_t i : order) digits.push_back(given[i]);
  const bool is_empty = std::any_of(given.begin(), given.end(), [](const Digit& d) { return d.extent == 0; });

  // Layer s holds the s-th preimage of every position that has one; a map that is one-to-one has one layer.
  struct Layer {
    std::vector<int64_t> positions;
    std::vector<std::vector<int64_t>> digits;  // by position in `order`
  };
  std::vector<Layer> layers;
  const Binding& binding = frame.at(node.dim.name);
  const int64_t offset = value_of(node.map.offset);
  for (size_t i = 0; i < binding.coordinates->size() && !is_empty; ++i) {
    size_t count = 0;
    std::vector<int64_t> chosen;
    solve(digits, (*binding.coordinates)[i] - offset, chosen, [&](const std::vector<int64_t>& found) {
      if (layers.size() == count) layers.push_back({{}, std::vector<std::vector<int64_t>>(digits.size())});
      layers[count].positions.push_back(static_cast<int64_t>(i));
      for (size_t d = 0; d < found.size(); ++d) layers[count].digits[d].push_back(found[d]);
      ++count;
    });
  }

  const NodeId x = node.args[0];
  const std::vector<NamedDim> terms = dims_of(node.map);
  Values values;
  for (const Shape all = frame.shape_of(node.dims); const AxisId axis : all.axes) {
    if (axis != binding.axis) values.shape.add(axis, frame.length(axis));
  }
  values.shape.add(binding.axis, frame.length(binding.axis));
  values.data.assign(static_cast<size_t>(values.shape.size()), 0.0);
  for (auto& layer : layers) {
    const AxisId taken = new_axis();
    Frame inside =
        frame.restricted_to(program_.graph[x].dims, names_of(terms)).with_taken(binding.axis, layer.positions, taken);
    for (size_t d = 0; d < order.size(); ++d) {
      inside.bind(node.map.terms[order[d]].dim.name, taken, shared(std::move(layer.digits[d])));
    }
    scatter_add(values, *evaluate(x, inside), taken, layer.positions);
  }
  return values;
}

Values Evaluator::gather(const Node& node, const Frame& frame) {
  const ValuesRef index = evaluate(node.args[1], frame);
  const NodeId x = node.args[0];
  const int64_t size = extent(node.dim);
  std::vector<int64_t> positions, coordinates;
  for (size_t i = 0; i < index->data.size(); ++i) {
    if (!(index->data[i] >= 0 && index->data[i] < static_cast<double>(size))) continue;
    positions.push_back(static_cast<int64_t>(i));
    coordinates.push_back(static_cast<int64_t>(index->data[i]));
  }
  // The index's axes become one; only its positions inside the dimension are asked for.
  const AxisId merged = new_axis(), taken = new_axis();
  const Frame around = frame.restricted_to(program_.graph[x].dims, {node.dim.name}).with_merged(index->shape, merged);
  Values values;
  for (const Shape all = frame.shape_of(node.dims); const AxisId axis : all.axes) {
    if (index->shape.position(axis) < 0) values.shape.add(axis, frame.length(axis));
  }
  values.shape.add(merged, index->shape.size());
  values.data.assign(static_cast<size_t>(values.shape.size()), 0.0);
  if (!positions.empty()) {
    Frame inside = around.with_taken(merged, positions, taken);
    inside.bind(node.dim.name, taken, shared(std::move(coordinates)));
    scatter_add(values, *evaluate(x, inside), taken, positions);
  }
  return split_axis(std::move(values), merged, index->shape);
}

}  // namespace coda
