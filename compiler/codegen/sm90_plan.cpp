#include "compiler/codegen/sm90_plan.h"

#include "compiler/codegen/sm90_probe.h"

namespace coda {
namespace {

constexpr uint32_t kBlock = 64;

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
  if (operand.outer_axes.size() > 1) map.collapsed = operand.outer_axes;
  return map;
}

int add_plain(KernelImage& image, const EpilogueProgram& epilogue, const GemmOperand& operand, const Dim& start,
              const Dim& count, uint32_t rows_in_box) {
  TensorMapSpec map = base_map(epilogue, operand, start);
  const TensorMapAxis outer{count, 1, operand.outer_axes.back(), 1, 0};
  const TensorMapAxis depth{epilogue.depth, 1, operand.depth_axis, 1, depth_in_box(epilogue)};
  if (sm90_depth_major(epilogue, operand)) {
    map.axes = {depth, outer};
    map.axes[1].box = rows_in_box;
  } else {
    map.axes = {outer, depth};
    map.axes[0].box = kBlock;
  }
  image.tensor_maps.push_back(map);
  return static_cast<int>(image.tensor_maps.size()) - 1;
}

/// Rows in groups of 4*width: shared row e + 2q + 8w holds row e + 2w + width*q of the group.
int add_permuted(KernelImage& image, const EpilogueProgram& epilogue, const GemmOperand& operand, const Dim& start,
                 const Dim& count, int width, int rows_in_box) {
  TensorMapSpec map = base_map(epilogue, operand, start);
  const int axis = operand.outer_axes.back();
  map.axes = {
      {epilogue.depth, 1, operand.depth_axis, 1, depth_in_box(epilogue)},
      {Dim(2), 1, axis, 1, 2},
      {Dim(4), 1, axis, width, 4},
      {Dim(width / 2), 1, axis, 2, static_cast<uint32_t>(width / 2)},
      {count, 4 * width, axis, 4 * width, static_cast<uint32_t>(rows_in_box / (4 * width))},
  };
  image.tensor_maps.push_back(map);
  return static_cast<int>(image.tensor_maps.size()) - 1;
}

}  // namespace

Dim sm90_rows(const EpilogueProgram& epilogue) {
  Dim rows(1);
  for (const NamedDim& dim : epilogue.rows) rows = rows * dim.extent;
  return rows;
}

std::string make_sm90_plan(const EpilogueProgram& epilogue, const Sm90Schedule& schedule, Sm90Plan& plan,
                           KernelImage& image) {
  plan.schedule = schedule;
  plan.a_depth_major = sm90_depth_major(epilogue, epilogue.a);
  plan.b_depth_major = sm90_depth_major(epilogue, epilogue.b);
  plan.a_type = epilogue.operand_dtype(epilogue.a);
  plan.b_type = epilogue.operand_dtype(epilogue.b);
  const Dim rows = sm90_rows(epilogue);
  plan.a_map = add_plain(image, epilogue, epilogue.a, Dim(0), rows, static_cast<uint32_t>(schedule.tile_m));
  // Only rows of contiguous depth can be brought in another order.
  const int widest = plan.b_depth_major ? 8 : 2;
  for (size_t r = 0; r < epilogue.regions.size(); ++r) {
    const Region& region = epilogue.regions[r];
    Sm90RegionPlan way;
    way.segments = static_cast<int>(region.segments.size());
    way.step = schedule.tile_n / way.segments;
    const std::string failure =
        choose_column_width(epilogue, static_cast<int>(r), rows, plan.row_slots(), widest, schedule.cluster, way);
    if (!failure.empty()) return failure;
    const int piece = way.piece(schedule.cluster);
    for (const Dim& start : region.segments) {
      const uint32_t box = way.width > 2 ? 2 : static_cast<uint32_t>(piece);
      way.plain_maps.push_back(add_plain(image, epilogue, epilogue.b, start, region.extent, box));
      if (way.width > 2) {
        way.permuted_maps.push_back(add_permuted(image, epilogue, epilogue.b, start, region.extent, way.width, piece));
      }
    }
    plan.regions.push_back(way);
  }
  return "";
}

}  // namespace coda
