// The product of one launch, cut into tiles; each finished tile of accumulators is handed to a function.
#pragma once

#include "coda/status.h"
#include "runtime/host_abi.h"
#include "runtime/host_pool.h"

namespace coda {

/// Called with a tile's accumulators, f32 [segments][tile_rows][pitch]. `row_tile` is the number of the tile's rows
/// among those of all batches.
using HostTileSink = std::function<void(int64_t region, const float* accumulators, int64_t row, int64_t rows,
                                        int64_t column, int64_t columns, int64_t row_tile)>;

/// Fails only for want of memory.
Status host_gemm(const HostGeometry& geometry, HostPool& pool, const HostTileSink& sink);

}  // namespace coda
