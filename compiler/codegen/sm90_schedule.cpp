#include "compiler/codegen/sm90_schedule.h"

#include <algorithm>
#include <iterator>
#include <numeric>

namespace coda {
namespace {

constexpr bool kShared = false, kInTurn = true;

// Name, tile, stages, cluster, consumers, whether they take turns, group_m, registers, rate. What was measured of them
// and of others that are not kept: docs/performance.md.
constexpr Sm90Schedule kSchedules[] = {
    {"pingpong-128x192", 128, 192, 5, 1, 2, kInTurn, 16, 24, 240, 1.0},
    {"128x256", 128, 256, 4, 2, 2, kShared, 8, 40, 232, 1.0},
    {"pingpong-64x256", 64, 256, 5, 1, 2, kInTurn, 16, 40, 232, 0.975},
    {"pingpong-128x128", 128, 128, 6, 2, 2, kInTurn, 8, 40, 232, 0.97},
    {"128x256x1", 128, 256, 4, 1, 2, kShared, 8, 40, 232, 0.995},
    {"128x128", 128, 128, 6, 1, 2, kShared, 8, 40, 232, 0.95},
    {"128x64", 128, 64, 9, 1, 2, kShared, 16, 40, 232, 0.7},
    {"64x256", 64, 256, 5, 1, 1, kShared, 16, 0, 0, 0.7},
    {"64x128", 64, 128, 9, 1, 1, kShared, 16, 0, 0, 0.68},
    {"64x64", 64, 64, 13, 1, 1, kShared, 16, 0, 0, 0.5},
    {"64x32", 64, 32, 18, 1, 1, kShared, 16, 0, 0, 0.25},
};

constexpr int kSmallestTileN = 32;
constexpr int kElementBytes = 2;
/// Multiply-adds of bf16 a cycle and SM.
constexpr double kMacsPerCycle = 2048;
/// Bytes of operands a cycle that an SM takes from L2, that it takes from memory, and that the whole memory gives.
constexpr double kCacheBytes = 64, kMemoryBytes = 38, kAllMemoryBytes = 2690;
/// Cycles of the pipeline's filling, and of an epilogue for each accumulator of a thread.
constexpr double kFillCycles = 1500, kEpilogueCycles = 22;

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
  if (s.alternate && s.consumers != 2) return Sm90Illegal{"one consumer that takes turns", "use 2 consumers"};
  if (s.tile_m <= 0 || s.tile_m % (64 * s.sharers()) != 0) {
    return Sm90Illegal{"a tile of " + std::to_string(s.tile_m) + " rows",
                       "use a multiple of " + std::to_string(64 * s.sharers())};
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

double estimate_sm90_cycles(const Sm90Schedule& s, int64_t rows, int64_t columns, int64_t depth, int processors) {
  const auto ceil_div = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
  const int64_t panels = ceil_div(std::max<int64_t>(rows, 1), s.tile_m * s.cluster);
  const int64_t clusters = panels * ceil_div(std::max<int64_t>(columns, 1), s.tile_n);
  const int64_t at_once = processors / s.cluster;
  const auto rounds = static_cast<double>(ceil_div(clusters, at_once));
  const auto busy = static_cast<double>(std::min(clusters, at_once) * s.cluster);

  const auto padded = static_cast<double>(ceil_div(std::max<int64_t>(depth, 1), kSm90TileK) * kSm90TileK);
  const double multiply = padded * s.tile_m * s.tile_n / kMacsPerCycle / s.efficiency;
  const auto used_rows = static_cast<double>(std::min<int64_t>(std::max<int64_t>(rows, 1), s.tile_m));
  const double copy = padded * kElementBytes * (used_rows + static_cast<double>(s.tile_n) / s.cluster) / kCacheBytes;
  // One epilogue is left at the end; the others are hidden only if consumers take turns.
  const double epilogue = kEpilogueCycles * s.rows_per_consumer() / 64 * s.tile_n / 2;
  const double exposed = s.alternate ? std::max(0.0, epilogue - multiply) : epilogue;
  const double tiles = rounds * (std::max(multiply, copy) + exposed) + (s.alternate ? epilogue : 0);

  const double all_bytes = padded * kElementBytes * static_cast<double>(rows + columns);
  const double memory = all_bytes / std::min(kAllMemoryBytes, kMemoryBytes * busy);
  return kFillCycles + std::max(tiles, memory + epilogue);
}

const Sm90Schedule& choose_sm90_schedule(int64_t rows, int64_t columns, int64_t depth, int processors) {
  const auto cost = [&](const Sm90Schedule& s) { return estimate_sm90_cycles(s, rows, columns, depth, processors); };
  return *std::min_element(std::begin(kSchedules), std::end(kSchedules),
                           [&](const Sm90Schedule& a, const Sm90Schedule& b) { return cost(a) < cost(b); });
}

}  // namespace coda
