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
inline constexpr int kSm90RowBytes = 128;        ///< of depth that a stage holds: one swizzle row of each operand
inline constexpr int kWarpgroup = 128;           ///< threads
inline constexpr int kSm90InstructionRows = 64;  ///< of A in one wgmma
inline constexpr int kSm90PieceColumns = 128;    ///< most columns of a partial sum that is promoted at a time

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
  /// 1: the tensor core sums the depth of one stage only, and those sums are added in f32; 0: it sums all of the depth,
  /// with the bits it has; -1: as the operands' type asks.
  int promote = -1;
  /// Parts into which the depth of a tile is cut, each of a CTA's own; the last one to be done adds them in their order
  /// and does the epilogue. For few tiles of great depth. 0: as the estimate says.
  int split = 1;

  /// 1: the tiles of a last round that is not full are cut along their depth, so that all CTAs have the same share of
  /// it; whoever is done last with a tile adds its parts in the order of the depth and does the epilogue.
  int tail = 0;
  /// In a plan, a kernel may begin before the one in front of it has ended; it allows that of the next one. 0: not; 1:
  /// from its start; 2: once a CTA's last operands are on their way.
  int dependent = 0;

  /// Rows of B that a stage holds, where those are more than the tile's columns: N-major B comes in blocks of 64. 0: as
  /// many.
  int b_rows = 0;

  bool cuts_depth() const { return split != 1 || tail != 0; }
  int threads() const { return kWarpgroup * (consumers + 1); }
  int sharers() const { return alternate ? 1 : consumers; }  ///< consumers of one tile
  int rows_per_consumer() const { return tile_m / sharers(); }
  /// wgmma instructions of 64 rows a step of depth. In a tile of fewer rows the others are computed from what lies
  /// behind its rows of A in shared memory, and dropped.
  int row_blocks() const {
    return rows_per_consumer() < kSm90InstructionRows ? 1 : rows_per_consumer() / kSm90InstructionRows;
  }
  int accumulators() const { return row_blocks() * tile_n / 2; }  ///< registers of a thread
  /// Columns of the pieces of 64 rows that are summed and promoted one after another; `align` divides where they start.
  int piece_columns(int align) const {
    const int count = (tile_n + kSm90PieceColumns - 1) / kSm90PieceColumns;
    return ((tile_n + count - 1) / count + align - 1) / align * align;
  }
  /// Registers of a thread for sums that are not promoted yet: of one piece, and of the one before it where setmaxnreg
  /// does not hold the assembler back.
  int promoted_registers() const {
    return promote != 1 ? 0 : piece_columns(8) / 2 * (consumer_registers || tile_n <= kSm90PieceColumns ? 1 : 2);
  }
  int a_bytes() const { return tile_m * kSm90RowBytes; }
  int b_bytes() const { return std::max(tile_n, b_rows) * kSm90RowBytes; }
  int stage_bytes() const { return a_bytes() + b_bytes(); }
  /// Barriers and the scratch of statistics behind the stages.
  int shared_bytes(int scratch) const { return stage_bytes() * stages + 16 * stages + 64 + scratch; }
  /// What wgmma may read, which is beyond a tile's own rows of A if those are few.
  int read_bytes() const {
    return stage_bytes() * (stages - 1) + std::max(tile_m, kSm90InstructionRows) * kSm90RowBytes;
  }
};

std::span<const Sm90Schedule> sm90_schedules();
const Sm90Schedule* find_sm90_schedule(std::string_view name);

/// What the GEMM of a program asks of a tile's width: it holds whole granules of every region, in equal segments.
struct Sm90TileDemand {
  int64_t multiple = 8;     ///< tile_n is a multiple of it
  int64_t segment_max = 1;  ///< most segments of a region
  bool is_uneven = false;   ///< some granule neither divides eight columns nor is made of eights
};
Sm90TileDemand sm90_tile_demand(const EpilogueProgram& epilogue);

/// Whether the operand lies in shared memory with its depth contiguous. Tensor cores take 8-bit types no other way:
/// where memory is ordered otherwise, the loading producer turns them.
bool sm90_depth_major(const EpilogueProgram& epilogue, const GemmOperand& operand);
/// Bytes of an element of the operands.
int sm90_element_bytes(const EpilogueProgram& epilogue);
/// How the depth is summed: `promote`, `split` and `tail` as the program's `schedule` clause says, else `promote` as
/// the operands' type asks, if the schedule leaves it open.
void settle_depth(Sm90Schedule& schedule, const EpilogueProgram& epilogue);

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
  int element_bytes = 2;
};
/// Of an epilogue, from the number of its operations, outputs and statistics.
double sm90_epilogue_cycles(const EpilogueProgram& epilogue);
/// Cycles of a launch: rounds of tiles, or what the memory needs.
double estimate_sm90_cycles(const Sm90Schedule& schedule, const Sm90Problem& problem);
/// The number of parts of the depth with the best estimate.
int best_sm90_split(const Sm90Schedule& schedule, const Sm90Problem& problem);
/// The schedules that fit the program, as they fit it, best estimate first.
std::vector<Sm90Schedule> rank_sm90_schedules(const Sm90Problem& problem, const EpilogueProgram& epilogue);

}  // namespace coda
