// Schedules of the sm_90a GEMM as data: tile, stages, cluster, consumers. A table of measured ones, the fit to a
// program (whole granules in a tile), the limits of the hardware as checks, and a choice by an estimate of the cycles.
// Knows nothing of code.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/epilogue/epilogue.h"

namespace coda {

inline constexpr int kSm90SharedLimit = 232448;  ///< bytes of shared memory a CTA may have
inline constexpr int kSm90TileK = 64;            ///< elements of depth a stage holds: one 128-byte swizzle row
inline constexpr int kWarpgroup = 128;           ///< threads
inline constexpr int kSm90InstructionRows = 64;  ///< of A in one wgmma

struct Sm90Schedule {
  std::string_view name;
  int tile_m = 0, tile_n = 0;
  int stages = 0;
  int cluster = 1;    ///< CTAs along M that share (multicast) the B tile
  int consumers = 0;  ///< warpgroups
  /// Consumers take whole tiles in turn, so that the epilogue of one runs beside the multiplications of the next; else
  /// they share each tile's rows.
  bool alternate = false;
  int group_m = 8;  ///< row panels of clusters walked before the next column of tiles
  /// Registers after setmaxnreg; 0: the kernel leaves them as they are.
  int producer_registers = 0, consumer_registers = 0;
  /// Tensor-core rate over that of the best tile, measured: what a wave of such tiles costs.
  double efficiency = 1;

  int threads() const { return kWarpgroup * (consumers + 1); }
  int sharers() const { return alternate ? 1 : consumers; }  ///< consumers of one tile
  int rows_per_consumer() const { return tile_m / sharers(); }
  /// wgmma instructions of 64 rows a step of depth. In a tile of fewer rows the others are computed from what lies
  /// behind its rows of A in shared memory, and dropped.
  int row_blocks() const {
    return rows_per_consumer() < kSm90InstructionRows ? 1 : rows_per_consumer() / kSm90InstructionRows;
  }
  int accumulators() const { return row_blocks() * tile_n / 2; }  ///< registers of a thread
  int a_bytes() const { return tile_m * kSm90TileK * 2; }
  int b_bytes() const { return tile_n * kSm90TileK * 2; }
  int stage_bytes() const { return a_bytes() + b_bytes(); }
  /// Barriers and the scratch of statistics behind the stages.
  int shared_bytes(int scratch) const { return stage_bytes() * stages + 16 * stages + 64 + scratch; }
  /// What wgmma may read, which is beyond a tile's own rows of A if those are few.
  int read_bytes() const {
    return stage_bytes() * (stages - 1) + std::max(tile_m, kSm90InstructionRows) * 2 * kSm90TileK;
  }
};

std::span<const Sm90Schedule> sm90_schedules();
const Sm90Schedule* find_sm90_schedule(std::string_view name);

/// What the GEMM of a program asks of a tile's width: it holds whole granules of every region, in equal segments.
struct Sm90TileDemand {
  int64_t multiple = 8;     ///< tile_n is a multiple of it
  int64_t segment_max = 1;  ///< most segments of a region
};
Sm90TileDemand sm90_tile_demand(const EpilogueProgram& epilogue);

/// The schedule with tile_n lowered to the nearest width that fits the program; nothing if there is none.
std::optional<Sm90Schedule> fit_sm90_schedule(Sm90Schedule schedule, const EpilogueProgram& epilogue);

/// Which limit a schedule breaks, in the user's nouns; empty if it is legal.
struct Sm90Illegal {
  std::string what, way_out;
};
std::optional<Sm90Illegal> check_sm90_schedule(const Sm90Schedule& schedule, int scratch_bytes);

/// What a schedule is chosen for.
struct Sm90Problem {
  int64_t rows = 8192, columns = 8192, depth = 8192;
  double epilogue_cycles = 16;  ///< for each accumulator of a thread
  int processors = 132;
};
/// Of an epilogue, from the number of its operations, outputs and statistics.
double sm90_epilogue_cycles(const EpilogueProgram& epilogue);
/// Cycles of a launch: rounds of tiles, or what the memory needs.
double estimate_sm90_cycles(const Sm90Schedule& schedule, const Sm90Problem& problem);
/// The schedules that fit the program, as they fit it, best estimate first.
std::vector<Sm90Schedule> rank_sm90_schedules(const Sm90Problem& problem, const EpilogueProgram& epilogue);

}  // namespace coda
