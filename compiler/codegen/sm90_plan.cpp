#include "compiler/codegen/sm90_plan.h"

#include <algorithm>
#include <vector>

#include "compiler/codegen/sm90_probe.h"

namespace coda {
namespace {

constexpr uint32_t kBlock = 64;
constexpr size_t kMostMaps = 64;  // that a kernel image holds

uint32_t depth_in_box(const EpilogueProgram& epilogue) {
  return static_cast<uint32_t>(kSm90RowBytes / sm90_element_bytes(epilogue));
}

/// A map over `operand` whose outer coordinate counts from `start` over `count` rows.
TensorMapSpec base_map(const EpilogueProgram& epilogue, const GemmOperand& operand, const Dim& start) {
  (void)epilogue;
  TensorMapSpec map;
  map.param = operand.param;
  if (!start.is_zero()) {
    map.offset_axis = operand.outer_axes.back();
    map.offset = start;
  }
  if (operand.outer_axes.size() > 1) map.collapsed.push_back(operand.outer_axes);
  if (!operand.outer_depth_axes.empty()) {
    map.collapsed.push_back(operand.outer_depth_axes);
    map.collapsed.back().push_back(operand.depth_axis);
  }
  return map;
}

/// The batch's axes, one a step of the box each.
void add_batch(TensorMapSpec& map, const EpilogueProgram& epilogue, const GemmOperand& operand) {
  const Param& param = epilogue.program.params[static_cast<size_t>(operand.param)];
  for (auto axis = operand.batch_axes.rbegin(); axis != operand.batch_axes.rend(); ++axis) {
    map.axes.push_back({param.dims[static_cast<size_t>(*axis)].extent, 1, *axis, 1, 1});
  }
}

int add_plain(KernelImage& image, const EpilogueProgram& epilogue, const GemmOperand& operand, const Dim& extent,
              const Dim& start, const Dim& count, uint32_t rows_in_box) {
  TensorMapSpec map = base_map(epilogue, operand, start);
  const TensorMapAxis outer{count, 1, operand.outer_axes.back(), 1, 0};
  const TensorMapAxis depth{extent, 1, operand.depth_axis, 1, depth_in_box(epilogue)};
  if (sm90_depth_major(epilogue, operand)) {
    map.axes = {depth, outer};
    map.axes[1].box = rows_in_box;
  } else {
    map.axes = {outer, depth};
    map.axes[0].box = kBlock;
  }
  add_batch(map, epilogue, operand);
  image.tensor_maps.push_back(map);
  return static_cast<int>(image.tensor_maps.size()) - 1;
}

/// Rows in groups of 4*width: shared row e + 2q + 8w holds row e + 2w + width*q of the group.
int add_permuted(KernelImage& image, const EpilogueProgram& epilogue, const GemmOperand& operand, const Dim& extent,
                 const Dim& start, const Dim& count, int width, int rows_in_box) {
  TensorMapSpec map = base_map(epilogue, operand, start);
  const int axis = operand.outer_axes.back();
  map.axes = {
      {extent, 1, operand.depth_axis, 1, depth_in_box(epilogue)},
      {Dim(2), 1, axis, 1, 2},
      {Dim(4), 1, axis, width, 4},
      {Dim(width / 2), 1, axis, 2, static_cast<uint32_t>(width / 2)},
      {count, 4 * width, axis, 4 * width, static_cast<uint32_t>(rows_in_box / (4 * width))},
  };
  image.tensor_maps.push_back(map);
  return static_cast<int>(image.tensor_maps.size()) - 1;
}

}  // namespace

Sm90TermPlan Sm90Plan::term(size_t index) const {
  if (index < earlier.size()) return earlier[index];
  Sm90TermPlan last{a_depth_major, b_depth_major, a_map, {}};
  for (const Sm90RegionPlan& region : regions) last.regions.push_back({region.plain_maps, region.permuted_maps});
  return last;
}

Dim sm90_rows(const EpilogueProgram& epilogue) {
  Dim rows(1);
  for (const NamedDim& dim : epilogue.rows) rows = rows * dim.extent;
  return rows;
}

bool sm90_gathers(const EpilogueProgram& epilogue) {
  const std::vector<GemmTerm> terms = epilogue.terms();
  return std::any_of(terms.begin(), terms.end(),
                     [](const GemmTerm& term) { return term.a.gathered() || term.b.gathered(); });
}

std::string make_sm90_plan(const EpilogueProgram& epilogue, const Sm90Schedule& schedule, Sm90Plan& plan,
                           KernelImage& image) {
  constexpr size_t kMostBatchAxes = 3;  // beside rows and depth, in maps of five axes
  plan.schedule = schedule;
  const auto depth_major = [&](const GemmOperand& operand) { return sm90_depth_major(epilogue, operand); };
  plan.a_depth_major = depth_major(epilogue.a);
  plan.b_depth_major = depth_major(epilogue.b);
  plan.a_type = epilogue.operand_dtype(epilogue.a);
  plan.b_type = epilogue.operand_dtype(epilogue.b);
  if (schedule.cuts_depth() && (!epilogue.earlier.empty() || epilogue.batch > 0)) {
    return "the depth of several products, or of a batch of them, split among CTAs";
  }
  bool permutes = epilogue.batch == 0;
  for (const GemmTerm& term : epilogue.terms()) {
    permutes = permutes && depth_major(term.b);
    if (std::max(term.a.batch_axes.size(), term.b.batch_axes.size()) > kMostBatchAxes) {
      return "a batch of more than " + std::to_string(kMostBatchAxes) + " dimensions";
    }
  }
  const Dim rows = sm90_rows(epilogue), in_batch = epilogue.rows_in_batch();
  const auto map_a = [&](const GemmOperand& a, const Dim& depth) {
    if (sm90_gathers(epilogue)) return 0;  // nothing is copied by maps
    return add_plain(image, epilogue, a, depth, Dim(0), in_batch, static_cast<uint32_t>(schedule.tile_m));
  };
  plan.a_map = map_a(epilogue.a, epilogue.depth);
  for (const GemmTerm& term : epilogue.earlier) {
    plan.earlier.push_back({depth_major(term.a), depth_major(term.b), map_a(term.a, term.depth), {}});
  }
  for (size_t r = 0; r < epilogue.regions.size(); ++r) {
    const Region& region = epilogue.regions[r];
    Sm90RegionPlan way;
    way.segments = static_cast<int>(region.segments.size());
    way.step = schedule.tile_n / way.segments;
    const auto choose = [&](int widest) {
      return choose_column_width(epilogue, static_cast<int>(r), rows, plan.row_slots(), widest, schedule.cluster, way);
    };
    // Beside the addresses of a batch's rows there are no registers for an exchange.
    std::string failure = choose(epilogue.batch == 0 ? 8 : 2);
    // Only rows of contiguous depth can be brought in another order; accumulators are exchanged all or not at all.
    way.exchanged = !permutes && way.width == 8;
    if (!permutes && way.width == 4) failure = choose(2);
    if (!failure.empty()) {
      way.exchanged = !permutes;
      if (!choose_uneven_width(epilogue, static_cast<int>(r), rows, plan.row_slots(), schedule.cluster, way))
        return failure;
    }
    const int piece = way.piece(schedule.cluster);
    const auto map_b = [&](const GemmOperand& b, const Dim& depth) {
      Sm90TermPlan::Maps maps;
      if (sm90_gathers(epilogue)) return maps;
      for (const Dim& start : region.segments) {
        const uint32_t box = way.permuted() ? 2 : static_cast<uint32_t>(piece);
        maps.plain.push_back(add_plain(image, epilogue, b, depth, start, region.extent, box));
        if (!way.permuted()) continue;
        maps.permuted.push_back(add_permuted(image, epilogue, b, depth, start, region.extent, way.width, piece));
      }
      return maps;
    };
    const Sm90TermPlan::Maps last = map_b(epilogue.b, epilogue.depth);
    way.plain_maps = last.plain;
    way.permuted_maps = last.permuted;
    for (size_t t = 0; t < epilogue.earlier.size(); ++t) {
      plan.earlier[t].regions.push_back(map_b(epilogue.earlier[t].b, epilogue.earlier[t].depth));
    }
    plan.regions.push_back(way);
  }
  if (image.tensor_maps.size() > kMostMaps) {
    return std::to_string(image.tensor_maps.size()) + " pieces of operands, more than " + std::to_string(kMostMaps);
  }
  plan.likeness = find_sm90_twins(epilogue, plan);
  return "";
}

}  // namespace coda
