// How the threads of a CTA share rows. Plain numbers. LLVM-free.
//
// `row_threads` threads do a row, `vector` neighbouring columns each at a time. Thread t's column of chunk j and slot k
// is (j * row_threads + t) * vector + k. The first `chunks` chunks are unrolled: what they read stays in registers from
// one statistic to the next and to the stores. Columns beyond are visited in a loop, and read again by each of these.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "compiler/epilogue/epilogue.h"

namespace coda {

struct Sm90RowPlan {
  int vector = 8;
  int row_threads = 256;
  int chunks = 2;
  int threads = 256;                    ///< of a CTA
  bool shares_rows = false;             ///< CTAs do parts of a row, `tile_columns()` each: nothing is reduced
  int ctas_per_sm = 8;                  ///< that the grid has
  int threads_per_sm = 512;             ///< that the registers must suffice for
  std::optional<int64_t> columns;       ///< that a row probably has
  std::vector<int64_t> region_columns;  ///< the same of each region; empty: not known
  std::vector<int> region_chunks;       ///< of each region are unrolled; empty: `chunks`
  /// Nothing that is stored waits for a statistic of its row: each chunk is stored when it is visited for them.
  bool streams = false;
  int dependent = 0;  ///< as Sm90Schedule says

  int rows() const { return threads / row_threads; }                     ///< that a CTA does at a time
  int warps() const { return row_threads > 32 ? row_threads / 32 : 1; }  ///< of a row
  int chunk_columns() const { return row_threads * vector; }
  int tile_columns() const { return chunk_columns() * chunks; }
  int chunks_of(int region) const {
    return region_chunks.empty() ? chunks : region_chunks[static_cast<size_t>(region)];
  }
  int tile_columns(int region) const { return chunk_columns() * chunks_of(region); }
};

/// `columns`: that the widest region has, if known; `regions`: that each has, or none.
Sm90RowPlan plan_sm90_rows(const EpilogueProgram& epilogue, std::optional<int64_t> columns,
                           std::span<const int64_t> regions = {});

/// The most CTAs that keep states over all rows; their workspaces have room for that many.
inline constexpr int kSm90MostPanels = 256;

}  // namespace coda
