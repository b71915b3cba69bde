#include "compiler/reference/reference.h"

#include <algorithm>
#include <numeric>

#include "compiler/reference/blocks.h"
#include "compiler/reference/evaluator.h"

namespace coda {

namespace {

std::string shape_text(const std::vector<int64_t>& shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) text += (i > 0 ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

/// Positions of points along the axes of a frame made for them: a grid if they fill one, else one axis for all.
struct Demand {
  Frame frame;
  std::vector<std::vector<int64_t>> position_on;  ///< [axis][point]
};

Demand demand_for(const std::vector<NamedDim>& dims, std::span<const std::vector<int64_t>> points) {
  Demand demand;
  std::vector<std::vector<int64_t>> distinct(dims.size());
  double grid = 1;
  for (size_t d = 0; d < dims.size(); ++d) {
    for (const auto& point : points) distinct[d].push_back(point[d]);
    std::sort(distinct[d].begin(), distinct[d].end());
    distinct[d].erase(std::unique(distinct[d].begin(), distinct[d].end()), distinct[d].end());
    grid *= static_cast<double>(distinct[d].size());
  }
  const bool is_grid = grid <= 2 * static_cast<double>(points.size());
  for (size_t d = 0; d < dims.size(); ++d) {
    std::vector<int64_t> along = std::move(distinct[d]), positions;
    if (!is_grid) along.clear();
    for (size_t p = 0; p < points.size(); ++p) {
      if (!is_grid) along.push_back(points[p][d]);
      positions.push_back(is_grid ? std::lower_bound(along.begin(), along.end(), points[p][d]) - along.begin()
                                  : static_cast<int64_t>(p));
    }
    const size_t axis = is_grid ? d : 0;
    demand.position_on.resize(std::max(demand.position_on.size(), axis + 1));
    demand.position_on[axis] = std::move(positions);
    demand.frame.bind(dims[d].name, static_cast<AxisId>(axis),
                      std::make_shared<const std::vector<int64_t>>(std::move(along)));
  }
  return demand;
}

}  // namespace

struct Reference::State {
  const Program& program;
  Evaluator evaluator;

  const Param& param(int output) const { return program.params[program.outputs[output].param]; }
};

Reference::Reference(std::unique_ptr<State> state) : state_(std::move(state)) {}
Reference::Reference(Reference&&) noexcept = default;
Reference& Reference::operator=(Reference&&) noexcept = default;
Reference::~Reference() = default;

Expected<Reference> Reference::make(const Program& program, const Bindings& bindings,
                                    std::vector<ReferenceInput> inputs, ReferenceOptions options) {
  Bindings all = bindings;
  all.insert(program.bound.begin(), program.bound.end());
  inputs.resize(program.params.size());
  auto state =
      std::unique_ptr<State>(new State{program, Evaluator(program, std::move(all), std::move(inputs), options)});
  if (Status status = state->evaluator.check(); !status.ok()) return status;
  return Reference(std::move(state));
}

std::vector<int64_t> Reference::shape(int output) const {
  std::vector<int64_t> shape;
  for (const auto& dim : state_->param(output).dims) shape.push_back(state_->evaluator.extent(dim));
  return shape;
}

Expected<std::vector<double>> Reference::evaluate(int output, std::span<const std::vector<int64_t>> coordinates) {
  const Param& param = state_->param(output);
  const std::vector<int64_t> extents = shape(output);
  for (const auto& point : coordinates) {
    bool inside = point.size() == extents.size();
    for (size_t d = 0; inside && d < extents.size(); ++d) inside = point[d] >= 0 && point[d] < extents[d];
    if (!inside) {
      return Status(Code::InvalidArgument, "output " + param.name + " has shape " + shape_text(extents) +
                                               ", but element " + shape_text(point) + " was asked for");
    }
  }
  std::vector<double> result;
  while (!coordinates.empty()) {
    const size_t count = std::min(coordinates.size(), static_cast<size_t>(state_->evaluator.block()));
    const Demand demand = demand_for(param.dims, coordinates.first(count));
    for (size_t axis = 0; axis < demand.position_on.size(); ++axis) state_->evaluator.new_axis();
    const ValuesRef values = state_->evaluator.evaluate(state_->program.outputs[output].value, demand.frame);
    for (size_t p = 0; p < count; ++p) {
      int64_t at = 0;
      for (size_t i = 0; i < values->shape.axes.size(); ++i) {
        at = at * values->shape.lengths[i] + demand.position_on[values->shape.axes[i]][p];
      }
      result.push_back(values->data[at]);
    }
    coordinates = coordinates.subspan(count);
  }
  return result;
}

Expected<std::vector<double>> Reference::evaluate_all(int output) {
  const std::vector<int64_t> extents = shape(output);
  const Param& param = state_->param(output);
  int64_t size = 1;
  for (const int64_t extent : extents) size *= extent;
  std::vector<double> result(static_cast<size_t>(size));
  if (size == 0) return result;

  const std::vector<int64_t> tile =
      plan_block(extents, state_->evaluator.block(), [](const std::vector<int64_t>& lengths) {
        return std::accumulate(lengths.begin(), lengths.end(), int64_t{1}, std::multiplies<>());
      });
  Workers alone(1);
  for_each_block(extents, tile, [&](const std::vector<int64_t>& begin, const std::vector<int64_t>& lengths) {
    Frame frame;
    Shape block;
    for (size_t d = 0; d < extents.size(); ++d) {
      block.add(state_->evaluator.new_axis(), lengths[d]);
      frame.bind(param.dims[d].name, block.axes[d], iota_coordinates(begin[d], lengths[d]));
    }
    const ValuesRef values[] = {state_->evaluator.evaluate(state_->program.outputs[output].value, frame)};
    const std::vector<double> dense = product_over(alone, block, values);
    for (size_t i = 0; i < dense.size(); ++i) {
      int64_t at = 0, rest = static_cast<int64_t>(i), stride = 1;
      for (size_t d = extents.size(); d-- > 0;) {
        at += (begin[d] + rest % lengths[d]) * stride;
        rest /= lengths[d];
        stride *= extents[d];
      }
      result[at] = dense[i];
    }
  });
  return result;
}

int64_t Reference::multiply_adds() const { return state_->evaluator.multiply_adds(); }

}  // namespace coda
