#include "tools/codac/verify.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include "compiler/plan/interpret.h"
#include "compiler/reference/reference.h"
#include "tools/codac/elements.h"
#include "tools/codac/other_side.h"

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

/// Whether a value is one of `stored` already.
bool is_of_type(const Program& program, NodeId value, DType stored) {
  const Node& node = program.graph[value];
  if (node.kind == NodeKind::Cast) return node.dtype == stored;
  if (node.kind == NodeKind::Input) return program.params[static_cast<size_t>(node.param)].dtype == stored;
  const bool moves = node.kind == NodeKind::View || node.kind == NodeKind::Put || node.kind == NodeKind::Gather;
  return moves && is_of_type(program, node.args[0], stored);
}

/// So many elements that are off are looked at first: if one of them is not on the other side of an edge, something is
/// wrong, and the others need not be looked at.
constexpr size_t kFirstLooked = 64;

/// One output: what is compared, and how.
struct Compared {
  std::vector<std::vector<int64_t>> coordinates;
  std::vector<ComparedElement> elements;
  DType stored;
  ErrorBound bound;
  bool of_nothing;

  Comparison verdict() const { return compare(elements, stored, bound, of_nothing); }
};

/// Replaces what is expected of elements that are off by what the reference gives on the other side of an edge, where
/// that is what was got. Returns how many are left of those looked at.
Expected<size_t> look_at_other_side(const OtherSide& side, std::vector<size_t> off, Compared& compared) {
  const RowScales scales(compared.elements);
  for (int way = 0; way < side.ways() && !off.empty(); ++way) {
    std::vector<std::vector<int64_t>> at;
    for (const size_t i : off) at.push_back(compared.coordinates[i]);
    auto want = side.evaluate(way, at);
    if (!want) return want.status();
    std::vector<size_t> still;
    for (size_t i = 0; i < off.size(); ++i) {
      ComparedElement element = compared.elements[off[i]];
      element.want = (*want)[i];
      if (is_within(element, compared.stored, compared.bound, scales.of(element.row))) {
        compared.elements[off[i]] = element;
      } else {
        still.push_back(off[i]);
      }
    }
    off = std::move(still);
  }
  return off.size();
}

/// The verdict on elements of which some are off.
Expected<Comparison> reconsider(const OtherSide& side, Comparison first, Compared compared) {
  if (side.ways() == 0) return first;
  const auto middle = first.off.begin() + static_cast<ptrdiff_t>(std::min(kFirstLooked, first.off.size()));
  const auto wrong = look_at_other_side(side, {first.off.begin(), middle}, compared);
  if (!wrong) return wrong.status();
  if (*wrong == 0 && middle != first.off.end()) {
    const auto more = look_at_other_side(side, {middle, first.off.end()}, compared);
    if (!more) return more.status();
  }
  Comparison verdict = compared.verdict();
  verdict.other_side = first.beyond - verdict.beyond;
  return verdict;
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

  // Sums of nothing are zero.
  const bool of_nothing = problem.depth == 0 || std::any_of(arguments.dims.begin(), arguments.dims.end(),
                                                            [](const auto& dim) { return dim.second == 0; });
  std::vector<OutputReport> reports;
  for (size_t output = 0; output < program.outputs.size(); ++output) {
    const int param = program.outputs[output].param;
    const NodeId value = program.outputs[output].value;
    const HostTensor& got = results[static_cast<size_t>(param)];
    const Sizes& shape = got.view().shape;
    const std::string& name = program.params[static_cast<size_t>(param)].name;
    VerifyOptions extent = options;
    if (whole) extent.rows = extent.columns = count(got);
    Compared compared{sample_coordinates(shape, extent), {}, got.view().dtype, {}, of_nothing};
    auto want = reference->evaluate(static_cast<int>(output), compared.coordinates);
    if (!want) return want.status().with_context(name);

    const std::vector<double>* kept = rounded ? &rounded->outputs.at(name) : nullptr;
    for (size_t i = 0; i < compared.coordinates.size(); ++i) {
      const std::vector<int64_t>& coordinate = compared.coordinates[i];
      const int64_t index = row_major_index(shape, coordinate);
      compared.elements.push_back({coordinate.empty() ? 0 : coordinate[0], index, get(got, index), (*want)[i]});
      if (kept) compared.elements.back().kept = std::abs((*kept)[static_cast<size_t>(index)] - (*want)[i]);
    }
    const double kept_sum = problem.kept_roundings[static_cast<size_t>(param)];
    compared.bound = error_bound(compared.stored,
                                 {.depth = problem.depth,
                                  .rigid = coarsest_in_sums(program.graph, value),
                                  .is_stored = is_of_type(program, value, compared.stored),
                                  .kept = {kept_sum, kept != nullptr}},
                                 options.slack);
    OutputReport report;
    report.name = name;
    report.dtype = compared.stored;
    report.whole = static_cast<int64_t>(compared.coordinates.size()) == count(got);
    report.bound = compared.bound;
    report.comparison = compared.verdict();
    if (report.comparison.beyond > 0) {
      std::vector<int64_t> rows;
      for (const ComparedElement& element : compared.elements) rows.push_back(element.row);
      const auto bound_of = [&](std::optional<DType> rigid) {
        return computed_bound(report.dtype, {.depth = problem.depth, .rigid = rigid, .kept = {kept_sum, false}},
                              options.slack);
      };
      const auto side = OtherSide::make(program, arguments.dims, reference_inputs(program, arguments),
                                        static_cast<int>(output), std::move(rows), bound_of);
      if (!side) return side.status().with_context(name);
      auto verdict = reconsider(*side, report.comparison, std::move(compared));
      if (!verdict) return verdict.status().with_context(name);
      report.comparison = std::move(*verdict);
    }
    reports.push_back(std::move(report));
  }
  return reports;
}

}  // namespace coda
