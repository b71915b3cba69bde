#include "compiler/codegen/sm90_schedule.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <numeric>
#include <set>

namespace coda {
namespace {

constexpr bool kShared = false, kInTurn = true;

// Name, tile, stages, cluster, consumers, whether they take turns, group_m, registers, rate. What was measured of them
// and of others that are not kept: docs/performance.md.
constexpr Sm90Schedule kSchedules[] = {
    {"pingpong-128x192", 128, 192, 5, 1, 2, kInTurn, 16, 24, 240, 1.0},
    {"128x256", 128, 256, 4, 2, 2, kShared, 8, 40, 232, 0.995},
    {"pingpong-64x256", 64, 256, 5, 1, 2, kInTurn, 16, 40, 232, 0.95},
    {"pingpong-128x128", 128, 128, 6, 2, 2, kInTurn, 8, 40, 232, 0.96},
    {"128x256x1", 128, 256, 4, 1, 2, kShared, 8, 40, 232, 0.985},
    {"128x128", 128, 128, 6, 1, 2, kShared, 8, 40, 232, 0.95},
    {"128x64", 128, 64, 9, 1, 2, kShared, 16, 40, 232, 0.7},
    {"64x256", 64, 256, 5, 1, 1, kShared, 16, 0, 0, 0.7},
    {"64x128", 64, 128, 9, 1, 1, kShared, 16, 0, 0, 0.68},
    {"64x64", 64, 64, 13, 1, 1, kShared, 16, 0, 0, 0.5},
    {"64x32", 64, 32, 18, 1, 1, kShared, 16, 0, 0, 0.25},
    {"32x128", 32, 128, 11, 1, 1, kShared, 16, 0, 0, 0.68},
    {"32x64", 32, 64, 18, 1, 1, kShared, 16, 0, 0, 0.5},
    {"16x256", 16, 256, 6, 1, 1, kShared, 16, 0, 0, 0.7},
    {"16x128", 16, 128, 12, 1, 1, kShared, 16, 0, 0, 0.68},
    {"16x64", 16, 64, 22, 1, 1, kShared, 16, 0, 0, 0.5},
};

constexpr int kSmallestTileN = 32, kWidestTileN = 256;
constexpr int kBlockColumns = 64;  // of B where columns are contiguous
constexpr int kWidestOfManyInTurn = 160, kProducerOfMany = 40, kConsumerOfMany = 232;
constexpr int kMostParts = 64;
/// Cycles between the last part's end and the first addition: a store, a counter and a load that go through L2.
constexpr double kMeetingCycles = 3000;
/// Multiply-adds a cycle and SM, times the bytes of an element.
constexpr double kMacBytesPerCycle = 4096;
/// What is left of the rate where sums are promoted: two consumers of a tile fill each other's waits; one alone can't.
constexpr double kPromotedShared = 0.94, kPromotedAlone = 0.7;
/// Bytes of operands a cycle that an SM takes from L2, that it takes from memory, and that the whole memory gives.
constexpr double kCacheBytes = 82, kMemoryBytes = 38, kAllMemoryBytes = 2690;
constexpr double kFillCycles = 1500;  // of the pipeline
constexpr double kRoundCycles = 500;  // between tiles, unless consumers take turns
/// Cycles in which the copy engine fills a row that lies outside the tensor.
constexpr double kMissingRowCycles = 3;

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
    const auto extent = region.extent.constant();
    const bool whole = extent && *extent <= region.granule;  // one granule, which needs no other to follow it
    int64_t columns = whole ? (*extent + 7) / 8 * 8 : std::lcm<int64_t>(8, region.granule);
    if (!whole && region.granule % 8 != 0 && 8 % region.granule != 0) {
      // A granule for each thread of a quad, if that fits.
      demand.is_uneven = true;
      const int64_t of_quad = std::lcm<int64_t>(8, 4 * region.granule);
      if (segments * of_quad <= kWidestTileN) columns = of_quad;
    }
    demand.multiple = std::lcm(demand.multiple, segments * std::max<int64_t>(columns, 8));
  }
  return demand;
}

bool sm90_depth_major(const EpilogueProgram& epilogue, const GemmOperand& operand) {
  return operand.depth_axis > operand.outer_axes.back() || info(epilogue.operand_dtype(operand)).bits == 8;
}

int sm90_element_bytes(const EpilogueProgram& epilogue) { return info(epilogue.operand_dtype(epilogue.a)).bits / 8; }

void settle_depth(Sm90Schedule& schedule, const EpilogueProgram& epilogue) {
  for (const auto& [name, value] : epilogue.program.schedule) {
    if (schedule.promote < 0 && name == "promote") schedule.promote = static_cast<int>(value);
    if (name == "split") schedule.split = static_cast<int>(value);
    if (name == "tail") schedule.tail = static_cast<int>(value);
  }
  if (schedule.promote < 0) schedule.promote = sm90_element_bytes(epilogue) == 1 ? 1 : 0;
}

std::optional<Sm90Schedule> fit_sm90_schedule(Sm90Schedule schedule, const EpilogueProgram& epilogue) {
  const Sm90TileDemand demand = sm90_tile_demand(epilogue);
  // N-major B comes in blocks of 64 columns; a multicast slice is whole rows of 8.
  const std::vector<GemmTerm> terms = epilogue.terms();
  const bool n_major = std::any_of(terms.begin(), terms.end(),
                                   [&](const GemmTerm& term) { return !sm90_depth_major(epilogue, term.b); });
  const int64_t sharing = demand.segment_max % schedule.cluster == 0 ? 1 : schedule.cluster;
  const int64_t of_slice = demand.is_uneven ? demand.multiple : 8;
  const int64_t block = n_major ? kBlockColumns * demand.segment_max * sharing : of_slice * schedule.cluster;
  int64_t multiple = std::lcm(demand.multiple, block);
  // Where no tile is whole blocks, the last one is copied whole.
  const bool cuts_block = n_major && multiple > kWidestTileN && demand.segment_max == 1 && schedule.cluster == 1;
  if (cuts_block) multiple = demand.multiple;
  const int wanted = schedule.tile_n;
  // Descriptors of several products take registers that the 192 accumulators of a tile in turn don't leave, and their
  // tensor maps more than the smallest producer has.
  const bool is_crowded = schedule.alternate && terms.size() > 2;
  const int widest = is_crowded ? std::min(wanted, kWidestOfManyInTurn) : wanted;
  if (is_crowded && schedule.producer_registers < kProducerOfMany) {
    schedule.producer_registers = kProducerOfMany;
    schedule.consumer_registers = kConsumerOfMany;
  }
  schedule.tile_n = static_cast<int>(widest / multiple * multiple);
  if (cuts_block) schedule.b_rows = (schedule.tile_n + kBlockColumns - 1) / kBlockColumns * kBlockColumns;
  // A narrower tile reads more for each multiplication.
  schedule.efficiency *= 1 - 0.15 * (wanted - schedule.tile_n) / wanted;
  if (schedule.tile_n < std::min<int64_t>(kSmallestTileN, demand.multiple) || schedule.tile_n == 0) return std::nullopt;
  return schedule;
}

std::optional<Sm90Illegal> check_sm90_schedule(const Sm90Schedule& schedule, int scratch_bytes) {
  const Sm90Schedule& s = schedule;
  if (s.consumers < 1 || s.consumers > 2) {
    return Sm90Illegal{std::to_string(s.consumers) + " consumer warpgroups", "use 1 or 2"};
  }
  if (s.alternate && s.consumers != 2) return Sm90Illegal{"one consumer that takes turns", "use 2 consumers"};
  const int rows = kSm90InstructionRows * s.sharers();
  const bool is_part = s.sharers() == 1 && (s.tile_m == 16 || s.tile_m == 32);
  if (s.split < 0 || s.split > kMostParts) {
    return Sm90Illegal{"split = " + std::to_string(s.split),
                       "use 1 to " + std::to_string(kMostParts) + ", or 0: as estimated"};
  }
  if (s.tail < 0 || s.tail > 1 || (s.tail == 1 && s.split != 1)) {
    return Sm90Illegal{"tail = " + std::to_string(s.tail) + (s.split != 1 ? " with split" : ""), "use one of them"};
  }
  if (s.alternate && (s.split > 1 || s.tail == 1)) {
    return Sm90Illegal{"a depth that is split between consumers that take turns",
                       "choose a schedule that isn't a pingpong"};
  }
  if (s.tile_m <= 0 || (s.tile_m % rows != 0 && !is_part)) {
    return Sm90Illegal{"a tile of " + std::to_string(s.tile_m) + " rows", "use a multiple of " + std::to_string(rows)};
  }
  if (s.tile_n < 8 || s.tile_n > 256 || s.tile_n % 8 != 0) {
    return Sm90Illegal{"a tile of " + std::to_string(s.tile_n) + " columns", "use a multiple of 8 up to 256"};
  }
  if (s.alternate && s.promote == 1) {  // spills beside epilogues of pairs, and reaches 0.72 of the others' rate
    return Sm90Illegal{"sums promoted by consumers that take turns",
                       "choose a schedule that isn't a pingpong, or promote = 0"};
  }
  if (s.dependent < 0 || s.dependent > 2) {
    return Sm90Illegal{"dependent = " + std::to_string(s.dependent), "use 0, 1 or 2"};
  }
  if (s.promote < -1 || s.promote > 1) return Sm90Illegal{"promote = " + std::to_string(s.promote), "use 0 or 1"};
  const int accumulators = s.accumulators() + s.promoted_registers();
  if (accumulators > 192) {
    const int limit = (192 - s.promoted_registers()) * 2 / s.row_blocks() / 8 * 8;
    return Sm90Illegal{"a tile of " + times(s.tile_m, s.tile_n) + " with " + std::to_string(s.consumers) +
                           " consumers needs " + std::to_string(accumulators) +
                           " accumulator registers a thread, more than 192",
                       "use at most " + std::to_string(limit) + " columns"};
  }
  if (s.cluster != 1 && s.cluster != 2) {
    return Sm90Illegal{"a cluster of " + std::to_string(s.cluster), "use 1 or 2"};
  }
  if (s.stage_bytes() < kSm90InstructionRows * kSm90RowBytes) {
    return Sm90Illegal{"a stage of " + std::to_string(s.stage_bytes()) + " bytes, less than 64 rows of A",
                       "use more rows or columns"};
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

double sm90_epilogue_cycles(const EpilogueProgram& epilogue) {
  constexpr double kLeast = 9, kOperation = 2.5, kOutput = 8, kStatistic = 8;
  std::set<NodeId> seen;
  const std::function<void(NodeId)> visit = [&](NodeId id) {
    if (id == epilogue.accumulator || !seen.insert(id).second) return;
    for (const NodeId argument : epilogue.program.graph[id].args) visit(argument);
  };
  for (const Store& store : epilogue.stores) visit(store.value);
  size_t parts = 0;
  for (const Statistic& statistic : epilogue.statistics) {
    for (const Statistic::Part& part : statistic.parts) visit(part.body);
    ++parts;
  }
  // Outputs of different regions are no column's both.
  size_t outputs = 0;
  for (size_t r = 0; r < epilogue.regions.size(); ++r) {
    const auto here = [&](const Store& store) { return store.region == static_cast<int>(r); };
    outputs = std::max<size_t>(
        outputs, static_cast<size_t>(std::count_if(epilogue.stores.begin(), epilogue.stores.end(), here)));
  }
  return kLeast + kOperation * static_cast<double>(seen.size()) +
         kOutput * static_cast<double>(outputs > 1 ? outputs - 1 : 0) + kStatistic * static_cast<double>(parts);
}

double estimate_sm90_cycles(const Sm90Schedule& s, const Sm90Problem& problem) {
  const auto ceil_div = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
  const int64_t rows = std::max<int64_t>(problem.rows, 1), columns = std::max<int64_t>(problem.columns, 1);
  const int64_t clusters = ceil_div(rows, s.tile_m * s.cluster) * ceil_div(columns, s.tile_n);
  const int64_t at_once = problem.processors / s.cluster;
  const int64_t parts = std::max(s.split, 1);
  const bool shares_tail = s.tail == 1 && clusters > at_once && clusters % at_once != 0;
  const auto rounds = shares_tail ? static_cast<double>(clusters) / static_cast<double>(at_once)
                                  : static_cast<double>(ceil_div(clusters * parts, at_once));
  const auto busy = static_cast<double>(std::min(clusters * parts, at_once) * s.cluster);

  // Of depth, in bytes.
  const int64_t depth_bytes = std::max<int64_t>(problem.depth, 1) * problem.element_bytes;
  const auto stages = static_cast<double>(ceil_div(depth_bytes, kSm90RowBytes));
  const double depth = stages * kSm90RowBytes;
  const int multiplied_rows = std::max(s.tile_m, kSm90InstructionRows);
  const double rate =
      s.promote != 1 ? s.efficiency : s.efficiency * (s.sharers() > 1 ? kPromotedShared : kPromotedAlone);
  const double part_depth = static_cast<double>(ceil_div(ceil_div(depth_bytes, kSm90RowBytes), parts)) * kSm90RowBytes;
  const double multiply = part_depth * multiplied_rows * s.tile_n / kMacBytesPerCycle / rate;
  const auto copied_rows = static_cast<double>(std::min<int64_t>(rows, s.tile_m));
  const double copy = part_depth * (copied_rows + static_cast<double>(s.tile_n) / s.cluster) / kCacheBytes;
  // One epilogue is left at the end; the others are hidden only if consumers take turns.
  const double epilogue = problem.epilogue_cycles * s.accumulators();
  const double body = std::max(multiply, copy);
  const double between = s.alternate ? 0 : kRoundCycles * rounds;
  const double tiles =
      s.alternate ? rounds * std::max(body, epilogue / s.consumers) + epilogue : rounds * (body + epilogue);

  const double bytes = depth * static_cast<double>(rows + columns);
  const double memory = bytes / std::min(kAllMemoryBytes, kMemoryBytes * busy) + epilogue;
  // Rows of a tile that the problem doesn't have cost the copies about as much as those it has.
  const double missing = (s.tile_m - copied_rows) * part_depth / kSm90RowBytes * kMissingRowCycles * rounds;
  // Each part is written, and all of them are read by the last.
  const double part_bytes = 4.0 * s.tile_m * s.tile_n;
  const double tail = shares_tail ? kMeetingCycles + 3 * part_bytes / kCacheBytes : 0;
  const double meeting = parts > 1 ? kMeetingCycles + part_bytes * static_cast<double>(parts + 1) / kCacheBytes : 0;
  return kFillCycles + std::max(tiles, memory) + between + missing + meeting + tail;
}

int best_sm90_split(const Sm90Schedule& schedule, const Sm90Problem& problem) {
  if (schedule.alternate) return 1;
  int best = 1;
  double least = 0;
  for (const int parts : {1, 2, 3, 4, 6, 8, 12, 16}) {
    Sm90Schedule s = schedule;
    s.split = parts;
    const double cycles = estimate_sm90_cycles(s, problem);
    if (parts > 1 && cycles >= least) continue;
    least = cycles;
    best = parts;
  }
  return best;
}

std::vector<Sm90Schedule> rank_sm90_schedules(const Sm90Problem& problem, const EpilogueProgram& epilogue) {
  std::vector<Sm90Schedule> fitting;
  for (const Sm90Schedule& schedule : kSchedules) {
    auto fitted = fit_sm90_schedule(schedule, epilogue);
    if (!fitted) continue;
    settle_depth(*fitted, epilogue);
    if (!check_sm90_schedule(*fitted, 0)) fitting.push_back(*fitted);
  }
  std::stable_sort(fitting.begin(), fitting.end(), [&](const Sm90Schedule& a, const Sm90Schedule& b) {
    return estimate_sm90_cycles(a, problem) < estimate_sm90_cycles(b, problem);
  });
  return fitting;
}

}  // namespace coda
