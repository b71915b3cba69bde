#include "runtime/host_gemm.h"

#include <algorithm>
#include <vector>

#include "runtime/host_kernels.h"
#include "runtime/host_pack.h"

namespace coda {

namespace {

/// Depth of a pass: a panel of b (256 x 32 f32) fills most of the first-level cache.
constexpr int64_t kDepth = 256;
/// Packed operands up to these sizes are kept instead of packed again where they are used again.
constexpr int64_t kKeepRows = int64_t{64} << 20, kKeepColumns = int64_t{16} << 20;
/// Tasks a thread, so that the last ones end together.
constexpr int64_t kTasksPerThread = 4;

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// Some row tiles of one column tile.
struct Task {
  int64_t region, column_tile, first_row_tile, row_tiles;
};

class Product {
 public:
  Product(const HostGeometry& geometry, HostPool& pool, const HostTileSink& sink)
      : g_(geometry), pool_(pool), sink_(sink), kernels_(host_kernels()) {}

  Status run() {
    passes_ = ceil_div(g_.depth, kDepth);
    row_tiles_ = ceil_div(g_.rows, g_.tile_rows);
    make_tasks();
    if (tasks_.empty()) return {};
    if (!reserve()) return {Code::OutOfMemory, "no memory for the packed operands of the product"};
    if (packed_rows_) {
      pool_.run(row_tiles_ * passes_, [&](int64_t i, int) { pack_rows(i / passes_, i % passes_, rows_at(i)); });
    }
    pool_.run(static_cast<int64_t>(tasks_.size()), [&](int64_t i, int worker) { do_task(tasks_[i], worker); });
    return {};
  }

 private:
  void make_tasks() {
    int64_t column_tiles = 0;
    for (int64_t r = 0; r < g_.regions; ++r) column_tiles += ceil_div(g_.region[r].columns, g_.region[r].width);
    if (column_tiles == 0 || row_tiles_ == 0) return;
    const int64_t wanted = pool_.threads() == 1 ? 1 : pool_.threads() * kTasksPerThread;
    const int64_t cuts = std::min(row_tiles_, ceil_div(wanted, column_tiles));
    const int64_t rows = ceil_div(row_tiles_, cuts);
    for (int64_t r = 0; r < g_.regions; ++r) {
      for (int64_t c = 0; c < ceil_div(g_.region[r].columns, g_.region[r].width); ++c) {
        for (int64_t t = 0; t < row_tiles_; t += rows) tasks_.push_back({r, c, t, std::min(rows, row_tiles_ - t)});
      }
    }
  }

  /// Sizes in f32: a row tile's panels of one pass, a column tile's, and the accumulators.
  bool reserve() {
    row_panel_ = ceil_div(g_.tile_rows, kernels_.rows) * kernels_.rows * kDepth;
    int64_t widest = 0, accumulators = 0;
    for (int64_t r = 0; r < g_.regions; ++r) {
      const HostRegion& region = g_.region[r];
      const int64_t pitch = host_pitch(region.width);
      widest = std::max(widest, pitch * region.segments);
      accumulators = std::max(accumulators, pitch * region.segments * g_.tile_rows);
    }
    column_panel_ = widest * kDepth;
    accumulators_ = accumulators;
    keep_columns_ = column_panel_ * passes_ * 4 <= kKeepColumns;
    const int64_t all_rows = row_panel_ * passes_ * row_tiles_ * 4;
    if (all_rows <= kKeepRows && static_cast<int64_t>(tasks_.size()) > 1) {
      packed_rows_ = static_cast<float*>(pool_.shared_scratch().get(static_cast<size_t>(all_rows)));
    }
    const int64_t own =
        accumulators_ + row_panel_ + column_panel_ * (keep_columns_ ? std::max<int64_t>(passes_, 1) : 1);
    for (int worker = 0; worker < pool_.threads(); ++worker) {
      if (!pool_.scratch(worker).get(static_cast<size_t>(own) * 4)) return false;
    }
    return true;
  }

  float* rows_at(int64_t index) const { return packed_rows_ + index * row_panel_; }
  int64_t depth_of(int64_t pass) const { return std::min(kDepth, g_.depth - pass * kDepth); }

  void pack_rows(int64_t tile, int64_t pass, float* out) const {
    const int64_t first = tile * g_.tile_rows;
    host_pack(g_.a, first, std::min(g_.tile_rows, g_.rows - first), pass * kDepth, depth_of(pass), kernels_.rows, out);
  }

  void pack_columns(const Task& task, int64_t pass, float* out) const {
    const HostRegion& region = g_.region[task.region];
    const int64_t first = task.column_tile * region.width;
    const int64_t columns = std::min(region.width, region.columns - first);
    for (int64_t s = 0; s < region.segments; ++s) {
      host_pack(g_.b, region.offsets[s] + first, columns, pass * kDepth, depth_of(pass), kernels_.columns, out);
      out += host_pitch(region.width) * depth_of(pass);
    }
  }

  void do_task(const Task& task, int worker) const {
    const HostRegion& region = g_.region[task.region];
    auto* accumulators = static_cast<float*>(pool_.scratch(worker).get(0));
    float* own_rows = accumulators + accumulators_;
    float* columns = own_rows + row_panel_;
    if (keep_columns_) {
      for (int64_t pass = 0; pass < passes_; ++pass) pack_columns(task, pass, columns + pass * column_panel_);
    }
    const int64_t column = task.column_tile * region.width;
    for (int64_t t = task.first_row_tile; t < task.first_row_tile + task.row_tiles; ++t) {
      const int64_t row = t * g_.tile_rows;
      const int64_t rows = std::min(g_.tile_rows, g_.rows - row),
                    width = std::min(region.width, region.columns - column);
      if (passes_ == 0) std::fill_n(accumulators, accumulators_, 0.0f);
      for (int64_t pass = 0; pass < passes_; ++pass) {
        float* a = own_rows;
        if (packed_rows_) {
          a = rows_at(t * passes_ + pass);
        } else {
          pack_rows(t, pass, a);
        }
        float* b = columns;
        if (keep_columns_) {
          b += pass * column_panel_;
        } else {
          pack_columns(task, pass, b);
        }
        for (int64_t s = 0; s < region.segments; ++s) {
          multiply(a, b + s * host_pitch(region.width) * depth_of(pass), rows, width, pass,
                   accumulators + s * g_.tile_rows * host_pitch(region.width), host_pitch(region.width));
        }
      }
      sink_(task.region, accumulators, row, rows, column, width);
    }
  }

  void multiply(const float* a, const float* b, int64_t rows, int64_t columns, int64_t pass, float* c,
                int64_t pitch) const {
    const int64_t depth = depth_of(pass);
    for (int64_t j = 0; j < columns; j += kernels_.columns) {
      for (int64_t i = 0; i < rows; i += kernels_.rows) {
        const int64_t count = std::min<int64_t>(kernels_.rows, rows - i);
        kernels_.block[count](depth, a + i * depth, b + j * depth, c + i * pitch + j, pitch, pass > 0);
      }
    }
  }

  const HostGeometry& g_;
  HostPool& pool_;
  const HostTileSink& sink_;
  const HostKernels& kernels_;
  int64_t passes_ = 0, row_tiles_ = 0, row_panel_ = 0, column_panel_ = 0, accumulators_ = 0;
  bool keep_columns_ = false;
  float* packed_rows_ = nullptr;
  std::vector<Task> tasks_;
};

}  // namespace

Status host_gemm(const HostGeometry& geometry, HostPool& pool, const HostTileSink& sink) {
  return Product(geometry, pool, sink).run();
}

}  // namespace coda
