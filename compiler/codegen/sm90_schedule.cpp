#include "compiler/codegen/sm90_schedule.h"

#include <algorithm>
#include <iterator>
#include <numeric>

namespace coda {
namespace {

constexpr Sm90Schedule kSchedules[] = {
    {"128x256", 128, 256, 4, 2, 2, 8, 40, 232, 1.0},  {"128x256x1", 128, 256, 4, 1, 2, 8, 40, 232, 0.995},
    {"256x192", 256, 192, 4, 1, 2, 4, 24, 240, 0.98}, {"128x128", 128, 128, 6, 1, 2, 8, 40, 232, 0.95},
    {"64x128", 64, 128, 8, 1, 1, 16, 0, 0, 0.68},
};

constexpr int kSmallestTileN = 32;
/// Cycles a tile pays beside its multiplications: fill of the pipeline and the epilogue's tail.
constexpr double kTileOverheadCycles = 1500;
/// Multiply-adds of bf16 a cycle and SM.
constexpr double kMacsPerCycle = 2048;

std::string times(int a, int b) { return std::to_string(a) + "x" + std::to_string(b); }

}  // namespace

std::span<const Sm90Schedule> sm90_schedules() { return kSchedules; }

const Sm90Schedule* find_sm90_schedule(std::string_view name) {
  const auto* found = std::find_if(std::begin(kSchedules), std::end(kSchedules),
                                   [&](const Sm90Schedule& schedule) { return schedule.name == name; });
  return found == std::end(kSchedules) ? nullptr : found;
}

Sm90TileDemand sm90_tile_demand(const EpilogueProgram& epilogue) {
  Sm90TileDemand demand;
  for (const Region& region : epilogue.regions) {
    const int64_t segments = static_cast<int64_t>(region.segments.size());
    demand.segment_max = std::max(demand.segment_max, segments);
    // A segment's part of the tile is whole granules and whole 8-column blocks of the fragment.
    demand.multiple = std::lcm(demand.multiple, segments * std::lcm<int64_t>(8, region.granule));
  }
  return demand;
}

std::optional<Sm90Schedule> fit_sm90_schedule(Sm90Schedule schedule, const EpilogueProgram& epilogue) {
  const Sm90TileDemand demand = sm90_tile_demand(epilogue);
  // N-major B comes in blocks of 64 columns; a multicast slice is whole rows of 8.
  const bool n_major = epilogue.b.depth_axis < epilogue.b.outer_axes.back();
  const int64_t block = n_major ? 64 * demand.segment_max : 8 * schedule.cluster;
  const int64_t multiple = std::lcm(demand.multiple, block);
  schedule.tile_n = static_cast<int>(schedule.tile_n / multiple * multiple);
  if (schedule.tile_n < std::min<int64_t>(kSmallestTileN, demand.multiple) || schedule.tile_n == 0) return std::nullopt;
  return schedule;
}

std::optional<Sm90Illegal> check_sm90_schedule(const Sm90Schedule& schedule, int scratch_bytes) {
  const Sm90Schedule& s = schedule;
  if (s.consumers < 1 || s.consumers > 2) {
    return Sm90Illegal{std::to_string(s.consumers) + " consumer warpgroups", "use 1 or 2"};
  }
  if (s.tile_m <= 0 || s.tile_m % (64 * s.consumers) != 0) {
    return Sm90Illegal{"a tile of " + std::to_string(s.tile_m) + " rows",
                       "use a multiple of " + std::to_string(64 * s.consumers)};
  }
  if (s.tile_n < 8 || s.tile_n > 256 || s.tile_n % 8 != 0) {
    return Sm90Illegal{"a tile of " + std::to_string(s.tile_n) + " columns", "use a multiple of 8 up to 256"};
  }
  const int accumulators = s.rows_per_consumer() / 64 * s.tile_n / 2;
  if (accumulators > 192) {
    const int limit = 192 * 2 * 64 / s.rows_per_consumer() / 8 * 8;
    return Sm90Illegal{"a tile of " + times(s.tile_m, s.tile_n) + " with " + std::to_string(s.consumers) +
                           " consumers needs " + std::to_string(accumulators) +
                           " accumulator registers a thread, more than 192",
                       "use at most " + std::to_string(limit) + " columns"};
  }
  if (s.cluster != 1 && s.cluster != 2) {
    return Sm90Illegal{"a cluster of " + std::to_string(s.cluster), "use 1 or 2"};
  }
  const int fixed = 64 + scratch_bytes, each = s.stage_bytes() + 16;
  const int most = (kSm90SharedLimit - fixed) / each;
  if (s.stages < 2 || s.stages > most) {
    return Sm90Illegal{std::to_string(s.stages) + " stages of " + std::to_string(s.stage_bytes()) + " bytes need " +
                           std::to_string(s.shared_bytes(scratch_bytes)) + " bytes of shared memory, of " +
                           std::to_string(kSm90SharedLimit),
                       "use 2 to " + std::to_string(most) + " stages"};
  }
  return std::nullopt;
}

const Sm90Schedule& choose_sm90_schedule(int64_t rows, int64_t columns, int64_t depth, int processors) {
  const Sm90Schedule* best = &kSchedules[0];
  double least = -1;
  for (const Sm90Schedule& s : kSchedules) {
    const auto ceil_div = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
    const int64_t clusters =
        ceil_div(std::max<int64_t>(rows, 1), s.tile_m * s.cluster) * ceil_div(std::max<int64_t>(columns, 1), s.tile_n);
    const int64_t waves = ceil_div(clusters, processors / s.cluster);
    const double cycles = static_cast<double>(s.tile_m) * s.tile_n * static_cast<double>(ceil_div(depth, kSm90TileK)) *
                              kSm90TileK / kMacsPerCycle / s.efficiency +
                          kTileOverheadCycles;
    const double cost = static_cast<double>(waves) * cycles;
    if (least < 0 || cost < least) {
      least = cost;
      best = &s;
    }
  }
  return *best;
}

}  // namespace coda
