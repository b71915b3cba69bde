#include "compiler/reference/gemm.h"

#include <algorithm>
#include <vector>

// One source, several instruction sets: the loader picks. No fma is formed (ISO C++ mode), so all give the same bits.
#if defined(__x86_64__) && defined(__linux__) && !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
#define CODA_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define CODA_CLONES
#endif

namespace coda {

namespace {

constexpr int64_t kRows = 4, kColumns = 8;

using Vector = double __attribute__((vector_size(64)));
static_assert(sizeof(Vector) == kColumns * sizeof(double));

/// out[r][0..8) += sum over k of rows[r][k] * panel[k][0..8), for four rows.
CODA_CLONES void multiply_four_rows(const double* const* rows, const double* panel, int64_t k, double* out) {
  Vector sum[kRows] = {};
  for (int64_t x = 0; x < k; ++x) {
    Vector b;
    __builtin_memcpy(&b, panel + x * kColumns, sizeof b);
    for (int64_t r = 0; r < kRows; ++r) sum[r] += rows[r][x] * b;
  }
  __builtin_memcpy(out, sum, sizeof sum);
}

/// Eight columns of one batch: packs them side by side, then runs down the rows.
void multiply_panel(int64_t m, int64_t n, int64_t k, const double* a, const double* bt, double* c, int64_t column,
                    std::vector<double>& panel) {
  const int64_t columns = std::min(kColumns, n - column);
  panel.assign(static_cast<size_t>(k * kColumns), 0.0);
  for (int64_t j = 0; j < columns; ++j) {
    const double* source = bt + (column + j) * k;
    for (int64_t x = 0; x < k; ++x) panel[x * kColumns + j] = source[x];
  }
  double block[kRows * kColumns];
  for (int64_t i = 0; i < m; i += kRows) {
    const double* rows[kRows];
    for (int64_t r = 0; r < kRows; ++r) rows[r] = a + std::min(i + r, m - 1) * k;
    multiply_four_rows(rows, panel.data(), k, block);
    for (int64_t r = 0; r < std::min(kRows, m - i); ++r) {
      for (int64_t j = 0; j < columns; ++j) c[(i + r) * n + column + j] += block[r * kColumns + j];
    }
  }
}

double dot(int64_t k, const double* a, const double* b) {
  double sum = 0;
  for (int64_t x = 0; x < k; ++x) sum += a[x] * b[x];
  return sum;
}

}  // namespace

void accumulate_products(Workers& workers, int64_t batch, int64_t m, int64_t n, int64_t k, const double* a,
                         const double* bt, double* c) {
  constexpr int64_t kWork = 1 << 17;  // multiply-adds a thread takes at a time
  if (std::min(m, n) < 2) {           // vectors: packing would cost more than it gains
    const int64_t grain = std::max<int64_t>(1, kWork / std::max<int64_t>(k, 1));
    workers.for_ranges(batch * m * n, grain, [&](int64_t begin, int64_t end) {
      for (int64_t x = begin; x < end; ++x) {
        const int64_t b = x / (m * n), i = x / n % m, j = x % n;
        c[x] += dot(k, a + (b * m + i) * k, bt + (b * n + j) * k);
      }
    });
    return;
  }
  const int64_t panels = (n + kColumns - 1) / kColumns;
  const int64_t grain = std::max<int64_t>(1, kWork / std::max<int64_t>(m * k * kColumns, 1));
  workers.for_ranges(batch * panels, grain, [&](int64_t begin, int64_t end) {
    std::vector<double> panel;
    for (int64_t x = begin; x < end; ++x) {
      const int64_t b = x / panels, column = x % panels * kColumns;
      multiply_panel(m, n, k, a + b * m * k, bt + b * n * k, c + b * m * n, column, panel);
    }
  });
}

}  // namespace coda
