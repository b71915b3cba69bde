// How operands lie in shared memory and how a thread's accumulators map to rows and columns: plain numbers, shared by
// the producer, the mainloop and the epilogue. LLVM-free.
//
// A stage holds tile_m x 128 bytes of A, then tile_n x 128 bytes of B, in 128-byte swizzled rows. B's rows are the
// columns of the tile, segment after segment; within a segment their order may be permuted in groups of 4*width rows so
// that each thread of a quad owns `width` neighbouring columns (width 2: the natural order of wgmma). Where copies
// can't permute them, because columns are what is contiguous, the threads of a quad exchange accumulators to the same
// end.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/codegen/sm90_schedule.h"
#include "compiler/codegen/sm90_twins.h"

namespace coda {

/// One region's way through the tile.
struct Sm90RegionPlan {
  int segments = 1;
  int step = 0;                 ///< columns of the region's coordinate a tile covers: tile_n / segments
  int width = 2;                ///< neighbouring columns a thread owns: 2, 4 or 8, or for uneven groups any even number
  bool exchanged = false;       ///< the threads of a quad exchange accumulators; B's rows are in natural order
  std::vector<int> plain_maps;  ///< tensor map of each segment, rows in natural order; 2-row boxes if permuted
  std::vector<int> permuted_maps;  ///< of each segment if permuted

  /// Whether each CTA of a cluster loads whole segments of B; otherwise it loads its part of each.
  bool whole_segments(int cluster) const { return cluster > 1 && segments % cluster == 0; }
  /// Rows of B in one copy.
  int piece(int cluster) const { return whole_segments(cluster) ? step : step / cluster; }
  bool permuted() const { return width > 2 && !exchanged; }
  int group() const { return 4 * width; }  ///< columns that a quad owns side by side
  int slots() const { return step / 4; }   ///< columns of one segment that a thread owns
  int groups() const { return step / group(); }
};

/// Where the operands of one of several products that are summed come from.
struct Sm90TermPlan {
  bool a_depth_major = true, b_depth_major = true;
  int a_map = 0;
  struct Maps {
    std::vector<int> plain, permuted;  ///< see Sm90RegionPlan
  };
  std::vector<Maps> regions;
};

struct Sm90Plan {
  Sm90Schedule schedule;
  bool landed = false;                              ///< sums are waited for before regions part
  bool sparing = false;                             ///< of registers
  bool approximate = false;                         ///< also what is stored in wide types
  std::vector<bool> constant;                       ///< by parameter: no kernel it may overlap with writes it
  bool a_depth_major = true, b_depth_major = true;  ///< depth is the contiguous axis of the operand
  int a_map = 0;
  std::vector<Sm90RegionPlan> regions;
  std::vector<Sm90Likeness> likeness;  ///< of each region: whose code it uses
  std::vector<Sm90TermPlan> earlier;   ///< of the program's earlier terms; the last one's is what is above
  DType a_type = DType::BF16, b_type = DType::BF16;  ///< of one size

  Sm90TermPlan term(size_t index) const;
  /// How many regions have code of their own.
  size_t codes() const {
    size_t count = 0;
    for (size_t r = 0; r < likeness.size(); ++r) count += likeness[r].leader == static_cast<int>(r) ? 1 : 0;
    return count;
  }
  bool is_constant(int param) const {
    return static_cast<size_t>(param) < constant.size() && constant[static_cast<size_t>(param)];
  }
  int element_bytes() const { return info(a_type).bits / 8; }
  int tile_k() const { return kSm90RowBytes / element_bytes(); }    ///< elements of depth in a stage
  int row_blocks() const { return schedule.row_blocks(); }          ///< wgmma instructions a k16 step
  int row_slots() const { return 2 * row_blocks(); }                ///< rows a thread owns
  int accumulators() const { return schedule.accumulators(); }      ///< registers a thread owns
  int slice() const { return schedule.tile_n / schedule.cluster; }  ///< rows of B one CTA loads
  /// Row of row slot h, relative to the warp's first row plus lane / 4.
  static int slot_row(int h) { return 64 * (h / 2) + 8 * (h % 2); }
  /// Accumulator of row slot h, segment s and column slot k; k % group < width.
  int accumulator(int region, int h, int segment, int k) const {
    const Sm90RegionPlan& r = regions[static_cast<size_t>(region)];
    const int inside = k % r.group();
    const int block = segment * r.step / 8 + k / r.group() * (r.width / 2) + inside / 2;
    return h / 2 * (schedule.tile_n / 2) + 4 * block + 2 * (h % 2) + inside % 2;
  }
};

/// Column slot i (0 <= i < slots) of a thread, relative to the tile's start plus width * (lane % 4).
inline int column_slot(const Sm90RegionPlan& region, int i) {
  return i / region.width * region.group() + i % region.width;
}

}  // namespace coda
