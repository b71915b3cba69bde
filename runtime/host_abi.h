// What the code of a host image and the code that runs it agree on. A host image's object exports, for the entry `e`:
//   e.geometry(words, HostGeometry*)                       the numbers of one launch
//   e.tile<r>(words, accumulators, row, rows, column, columns, row_tile)   everything a tile of region r does
//   e.rows(words, begin, end)                              finish stage of row statistics, for a range of rows
//   e.finish(words)                                        the rest of the finish stage
// Without a product there are, instead of tiles and e.rows, and with a geometry of rows and tile_rows alone:
//   e.sweep(words, begin, end)                             everything of rows; begin is a multiple of tile_rows
// `words` is the argument block of the KernelImage. A tile's accumulators are f32
// [segments][tile_rows][host_pitch(width)].
#pragma once

#include <cstdint>

namespace coda {

inline constexpr int kHostMaxAxes = 4, kHostMaxSegments = 8, kHostMaxRegions = 64, kHostMaxTerms = 8;

/// Distance of the rows of accumulators: whole register blocks, so that none needs an edge.
constexpr int64_t host_pitch(int64_t width) { return (width + 31) / 32 * 32; }

/// A GEMM operand: element (outer, depth), the outer coordinate being the mixed-radix number of its axes.
struct HostOperand {
  int64_t address, dtype;
  int64_t axes, extents[kHostMaxAxes], strides[kHostMaxAxes];  ///< outermost first, strides in elements
  /// The depth is the mixed-radix number of its axes; that of the innermost one runs through depth_run, with
  /// depth_stride.
  int64_t depth_stride, depth_run;
  int64_t depth_axes, depth_extents[kHostMaxAxes], depth_strides[kHostMaxAxes];  ///< all of them, outermost first
  int64_t batch_axes, batch_extents[kHostMaxAxes], batch_strides[kHostMaxAxes];  ///< likewise, of the batch number
  /// If index_axes > 0 the outer coordinate is the number of a whole number stored there, which says where along the
  /// only axis the element lies; elsewhere than on the axis are zeros.
  int64_t index_address, index_dtype;
  int64_t index_axes, index_extents[kHostMaxAxes], index_strides[kHostMaxAxes];
};

/// One of the products that are summed, in order: the sum so far is multiplied by `scale`, then comes the next.
struct HostTerm {
  HostOperand a, b;
  int64_t depth;
  double scale;
};

struct HostRegion {
  int64_t columns, segments, width;   ///< width: columns of a tile
  int64_t offsets[kHostMaxSegments];  ///< column c of segment s is column offsets[s] + c of the GEMM
};

struct HostGeometry {
  int64_t rows, batches, tile_rows, regions, terms;  ///< rows of all batches together; no tile reaches into two
  HostTerm term[kHostMaxTerms];
  HostRegion region[kHostMaxRegions];
};

using HostGeometryFn = void (*)(const int64_t* words, HostGeometry* geometry);
using HostTileFn = void (*)(const int64_t* words, const float* accumulators, int64_t row, int64_t rows, int64_t column,
                            int64_t columns, int64_t row_tile);
using HostRowsFn = void (*)(const int64_t* words, int64_t begin, int64_t end);
using HostFinishFn = void (*)(const int64_t* words);

}  // namespace coda
