#include "tools/codac/verify.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include "compiler/plan/interpret.h"
#include "compiler/reference/reference.h"
#include "tools/codac/elements.h"

namespace coda {
namespace {

/// GEMMs up to this many FLOPs are compared whole: under a second on two cores.
constexpr double kWholeFlops = 2e9;

/// First, last and random numbers below `extent`, `wanted` at most, ascending.
std::vector<int64_t> sample(int64_t extent, int64_t wanted, std::mt19937_64& random) {
  std::set<int64_t> chosen;
  if (extent <= wanted) {
    for (int64_t i = 0; i < extent; ++i) chosen.insert(i);
  } else {
    chosen = {0, extent - 1};
    while (static_cast<int64_t>(chosen.size()) < wanted) {
      chosen.insert(static_cast<int64_t>(random() % static_cast<uint64_t>(extent)));
    }
  }
  return {chosen.begin(), chosen.end()};
}

std::vector<ReferenceInput> reference_inputs(const Program& program, const Arguments& arguments) {
  std::vector<ReferenceInput> inputs;
  for (size_t i = 0; i < program.params.size(); ++i) {
    const TensorView& view = arguments.tensors[i].view();
    ReferenceInput input;
    input.data = view.data;
    input.dtype = view.dtype;
    input.shape.assign(view.shape.begin(), view.shape.end());
    input.strides.assign(view.strides.begin(), view.strides.end());
    if (program.params[i].role == Param::Role::Scalar) input.scalar = get(arguments.tensors[i], 0);
    inputs.push_back(std::move(input));
  }
  return inputs;
}

/// What the roundings of tensors kept between kernels do to the outputs; nothing where it can't be computed.
std::optional<Meaning> planned(const Program& program, const Problem& problem, const Arguments& arguments) {
  if (!problem.plan) return std::nullopt;
  Meaning meaning =
      interpret_plan(program, *problem.plan, arguments.dims, reference_inputs(program, arguments), Kept::AsStored);
  if (!meaning.failure.empty()) return std::nullopt;
  return meaning;
}

int64_t row_major_index(const Sizes& shape, const std::vector<int64_t>& coordinate) {
  int64_t index = 0;
  for (int axis = 0; axis < shape.size(); ++axis) index = index * shape[axis] + coordinate[static_cast<size_t>(axis)];
  return index;
}

/// The coarsest floating type that a cast below `root` rounds to.
std::optional<DType> coarsest_cast(const Graph& graph, NodeId root) {
  std::optional<DType> coarsest;
  std::set<NodeId> seen{root};
  std::vector<NodeId> stack{root};
  while (!stack.empty()) {
    const Node& node = graph[stack.back()];
    stack.pop_back();
    const bool rounds = node.kind == NodeKind::Cast && info(node.dtype).num_class == NumClass::Real;
    if (rounds && (!coarsest || info(node.dtype).mantissa_bits < info(*coarsest).mantissa_bits)) coarsest = node.dtype;
    for (const NodeId arg : node.args) {
      if (seen.insert(arg).second) stack.push_back(arg);
    }
  }
  return coarsest;
}

}  // namespace

std::vector<std::vector<int64_t>> sample_coordinates(const Sizes& shape, const VerifyOptions& options) {
  std::mt19937_64 random(options.seed);
  if (shape.empty()) return {{}};
  int64_t rest = 1;
  for (int axis = 1; axis < shape.size(); ++axis) rest *= shape[axis];
  std::vector<std::vector<int64_t>> coordinates;
  const auto columns = sample(rest, options.columns, random);
  for (int64_t row : sample(shape[0], options.rows, random)) {
    for (int64_t column : columns) {
      std::vector<int64_t> coordinate(static_cast<size_t>(shape.size()), row);
      int64_t left = column;
      for (int axis = shape.size() - 1; axis > 0; --axis) {
        coordinate[static_cast<size_t>(axis)] = left % shape[axis];
        left /= shape[axis];
      }
      coordinates.push_back(std::move(coordinate));
    }
  }
  return coordinates;
}

Expected<std::vector<OutputReport>> verify(const Program& program, const Problem& problem, const Arguments& arguments,
                                           const std::vector<HostTensor>& results, const VerifyOptions& options) {
  auto reference = Reference::make(program, arguments.dims, reference_inputs(program, arguments));
  if (!reference) return reference.status();
  const bool whole = problem.flops <= kWholeFlops;
  const auto rounded = whole ? planned(program, problem, arguments) : std::nullopt;

  std::vector<OutputReport> reports;
  for (size_t output = 0; output < program.outputs.size(); ++output) {
    const int param = program.outputs[output].param;
    const HostTensor& got = results[static_cast<size_t>(param)];
    const Sizes& shape = got.view().shape;
    VerifyOptions extent = options;
    if (whole) extent.rows = extent.columns = count(got);
    const auto coordinates = sample_coordinates(shape, extent);
    auto want = reference->evaluate(static_cast<int>(output), coordinates);
    if (!want) return want.status().with_context(program.params[static_cast<size_t>(param)].name);

    const std::string& name = program.params[static_cast<size_t>(param)].name;
    const std::vector<double>* kept = rounded ? &rounded->outputs.at(name) : nullptr;
    std::vector<ComparedElement> elements;
    for (size_t i = 0; i < coordinates.size(); ++i) {
      const int64_t index = row_major_index(shape, coordinates[i]);
      elements.push_back({coordinates[i].empty() ? 0 : coordinates[i][0], index, get(got, index), (*want)[i]});
      if (kept) elements.back().kept = std::abs((*kept)[static_cast<size_t>(index)] - (*want)[i]);
    }
    OutputReport report;
    report.name = name;
    report.dtype = got.view().dtype;
    report.whole = static_cast<int64_t>(coordinates.size()) == count(got);
    report.bound = error_bound(report.dtype, problem.depth, options.slack,
                               coarsest_cast(program.graph, program.outputs[output].value),
                               {problem.kept_roundings[static_cast<size_t>(param)], kept != nullptr});
    report.comparison = compare(elements, report.dtype, report.bound, problem.depth == 0);
    reports.push_back(std::move(report));
  }
  return reports;
}

}  // namespace coda
