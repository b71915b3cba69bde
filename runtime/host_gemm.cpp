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

/// Some row tiles of one column tile, all of one batch.
struct Task {
  int64_t region, column_tile, first_row_tile, row_tiles;
};

class Product {
 public:
  Product(const HostGeometry& geometry, HostPool& pool, const HostTileSink& sink)
      : g_(geometry), pool_(pool), sink_(sink), kernels_(host_kernels()) {}

  Status run() {
    make_passes();
    rows_in_batch_ = g_.batches > 0 ? g_.rows / g_.batches : 0;
    tiles_in_batch_ = ceil_div(rows_in_batch_, g_.tile_rows);
    row_tiles_ = g_.batches * tiles_in_batch_;
    make_tasks();
    if (tasks_.empty()) return {};
    if (!reserve()) return {Code::OutOfMemory, "no memory for the packed operands of the product"};
    if (packed_rows_) {
      const auto passes = static_cast<int64_t>(passes_.size());
      pool_.run(row_tiles_ * passes, [&](int64_t i, int) { pack_rows(i / passes, passes_[i % passes], rows_at(i)); });
    }
    pool_.run(static_cast<int64_t>(tasks_.size()), [&](int64_t i, int worker) { do_task(tasks_[i], worker); });
    return {};
  }

 private:
  /// Some depth of one term, and what the sum is multiplied by after it.
  struct Pass {
    const HostTerm* term;
    int64_t start, length;
    float scale;
  };

  void make_passes() {
    for (int64_t t = 0; t < g_.terms; ++t) {
      const HostTerm& term = g_.term[t];
      for (int64_t k = 0; k < term.depth; k += kDepth)
        passes_.push_back({&term, k, std::min(kDepth, term.depth - k), 1});
      if (!passes_.empty()) passes_.back().scale *= static_cast<float>(term.scale);
    }
  }

  void make_tasks() {
    int64_t column_tiles = 0;
    for (int64_t r = 0; r < g_.regions; ++r) column_tiles += ceil_div(g_.region[r].columns, g_.region[r].width);
    if (column_tiles == 0 || row_tiles_ == 0) return;
    const int64_t wanted = pool_.threads() == 1 ? 1 : pool_.threads() * kTasksPerThread;
    const int64_t cuts = std::min(tiles_in_batch_, ceil_div(wanted, column_tiles * g_.batches));
    const int64_t rows = ceil_div(tiles_in_batch_, cuts);
    for (int64_t r = 0; r < g_.regions; ++r) {
      for (int64_t c = 0; c < ceil_div(g_.region[r].columns, g_.region[r].width); ++c) {
        for (int64_t t = 0; t < row_tiles_;) {
          const int64_t count = std::min(rows, tiles_in_batch_ - t % tiles_in_batch_);
          tasks_.push_back({r, c, t, count});
          t += count;
        }
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
    const auto passes = static_cast<int64_t>(passes_.size());
    keep_columns_ = column_panel_ * passes * 4 <= kKeepColumns;
    const int64_t all_rows = row_panel_ * passes * row_tiles_ * 4;
    if (all_rows <= kKeepRows && static_cast<int64_t>(tasks_.size()) > 1) {
      packed_rows_ = static_cast<float*>(pool_.shared_scratch().get(static_cast<size_t>(all_rows)));
    }
    const int64_t own = accumulators_ + row_panel_ + column_panel_ * (keep_columns_ ? std::max<int64_t>(passes, 1) : 1);
    for (int worker = 0; worker < pool_.threads(); ++worker) {
      if (!pool_.scratch(worker).get(static_cast<size_t>(own) * 4)) return false;
    }
    return true;
  }

  float* rows_at(int64_t index) const { return packed_rows_ + index * row_panel_; }

  void pack_rows(int64_t tile, const Pass& pass, float* out) const {
    const int64_t first = tile % tiles_in_batch_ * g_.tile_rows;
    host_pack(host_operand(pass.term->a, tile / tiles_in_batch_), first, std::min(g_.tile_rows, rows_in_batch_ - first),
              pass.start, pass.length, kernels_.rows, out);
  }

  void pack_columns(const Task& task, const Pass& pass, float* out) const {
    const HostOperand b = host_operand(pass.term->b, task.first_row_tile / tiles_in_batch_);
    const HostRegion& region = g_.region[task.region];
    const int64_t first = task.column_tile * region.width;
    const int64_t columns = std::min(region.width, region.columns - first);
    for (int64_t s = 0; s < region.segments; ++s) {
      host_pack(b, region.offsets[s] + first, columns, pass.start, pass.length, kernels_.columns, out);
      out += host_pitch(region.width) * pass.length;
    }
  }

  void do_task(const Task& task, int worker) const {
    const HostRegion& region = g_.region[task.region];
    auto* accumulators = static_cast<float*>(pool_.scratch(worker).get(0));
    float* own_rows = accumulators + accumulators_;
    float* columns = own_rows + row_panel_;
    if (keep_columns_) {
      for (size_t p = 0; p < passes_.size(); ++p) {
        pack_columns(task, passes_[p], columns + static_cast<int64_t>(p) * column_panel_);
      }
    }
    const int64_t column = task.column_tile * region.width;
    for (int64_t t = task.first_row_tile; t < task.first_row_tile + task.row_tiles; ++t) {
      const int64_t in_batch = t % tiles_in_batch_ * g_.tile_rows;
      const int64_t rows = std::min(g_.tile_rows, rows_in_batch_ - in_batch),
                    width = std::min(region.width, region.columns - column);
      if (passes_.empty()) std::fill_n(accumulators, accumulators_, 0.0f);
      for (size_t p = 0; p < passes_.size(); ++p) {
        const Pass& pass = passes_[p];
        float* a = own_rows;
        if (packed_rows_) {
          a = rows_at(t * static_cast<int64_t>(passes_.size()) + static_cast<int64_t>(p));
        } else {
          pack_rows(t, pass, a);
        }
        float* b = columns;
        if (keep_columns_) {
          b += static_cast<int64_t>(p) * column_panel_;
        } else {
          pack_columns(task, pass, b);
        }
        for (int64_t s = 0; s < region.segments; ++s) {
          multiply(a, b + s * host_pitch(region.width) * pass.length, rows, width, pass.length, p > 0,
                   accumulators + s * g_.tile_rows * host_pitch(region.width), host_pitch(region.width));
        }
        if (pass.scale != 1) scale(accumulators, region, rows, width, pass.scale);
      }
      sink_(task.region, accumulators, t / tiles_in_batch_ * rows_in_batch_ + in_batch, rows, column, width, t);
    }
  }

  void scale(float* accumulators, const HostRegion& region, int64_t rows, int64_t columns, float factor) const {
    for (int64_t s = 0; s < region.segments; ++s) {
      for (int64_t r = 0; r < rows; ++r) {
        float* row = accumulators + (s * g_.tile_rows + r) * host_pitch(region.width);
        for (int64_t c = 0; c < columns; ++c) row[c] *= factor;
      }
    }
  }

  void multiply(const float* a, const float* b, int64_t rows, int64_t columns, int64_t depth, bool accumulate, float* c,
                int64_t pitch) const {
    for (int64_t j = 0; j < columns; j += kernels_.columns) {
      for (int64_t i = 0; i < rows; i += kernels_.rows) {
        const int64_t count = std::min<int64_t>(kernels_.rows, rows - i);
        kernels_.block[count](depth, a + i * depth, b + j * depth, c + i * pitch + j, pitch, accumulate);
      }
    }
  }

  const HostGeometry& g_;
  HostPool& pool_;
  const HostTileSink& sink_;
  const HostKernels& kernels_;
  std::vector<Pass> passes_;
  int64_t rows_in_batch_ = 0, tiles_in_batch_ = 0, row_tiles_ = 0, row_panel_ = 0, column_panel_ = 0, accumulators_ = 0;
  bool keep_columns_ = false;
  float* packed_rows_ = nullptr;
  std::vector<Task> tasks_;
};

}  // namespace

Status host_gemm(const HostGeometry& geometry, HostPool& pool, const HostTileSink& sink) {
  return Product(geometry, pool, sink).run();
}

}  // namespace coda
