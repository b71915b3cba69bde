#include "runtime/host_kernels.h"

#include <utility>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace coda {

namespace {

// Each kernel keeps its block of c in registers over the whole depth. `Rows` is the pitch of a, `N` the rows done.

#if defined(__x86_64__)

/// 12 x 32: 24 accumulators of 16 f32, two vectors of b and one broadcast of a.
template <int N>
__attribute__((target("avx512f"))) void block_avx512(int64_t depth, const float* a, const float* b, float* c,
                                                     int64_t pitch, bool accumulate) {
  constexpr int kRows = 12;
  __m512 sum[N][2];
#pragma GCC unroll 12
  for (int i = 0; i < N; ++i) {
    sum[i][0] = accumulate ? _mm512_loadu_ps(c + i * pitch) : _mm512_setzero_ps();
    sum[i][1] = accumulate ? _mm512_loadu_ps(c + i * pitch + 16) : _mm512_setzero_ps();
  }
  for (int64_t k = 0; k < depth; ++k, a += kRows, b += 32) {
    const __m512 b0 = _mm512_loadu_ps(b), b1 = _mm512_loadu_ps(b + 16);
#pragma GCC unroll 12
    for (int i = 0; i < N; ++i) {
      const __m512 ai = _mm512_set1_ps(a[i]);
      sum[i][0] = _mm512_fmadd_ps(ai, b0, sum[i][0]);
      sum[i][1] = _mm512_fmadd_ps(ai, b1, sum[i][1]);
    }
  }
#pragma GCC unroll 12
  for (int i = 0; i < N; ++i) {
    _mm512_storeu_ps(c + i * pitch, sum[i][0]);
    _mm512_storeu_ps(c + i * pitch + 16, sum[i][1]);
  }
}

/// 6 x 16: 12 accumulators of 8 f32.
template <int N>
__attribute__((target("avx2,fma"))) void block_avx2(int64_t depth, const float* a, const float* b, float* c,
                                                    int64_t pitch, bool accumulate) {
  constexpr int kRows = 6;
  __m256 sum[N][2];
#pragma GCC unroll 6
  for (int i = 0; i < N; ++i) {
    sum[i][0] = accumulate ? _mm256_loadu_ps(c + i * pitch) : _mm256_setzero_ps();
    sum[i][1] = accumulate ? _mm256_loadu_ps(c + i * pitch + 8) : _mm256_setzero_ps();
  }
  for (int64_t k = 0; k < depth; ++k, a += kRows, b += 16) {
    const __m256 b0 = _mm256_loadu_ps(b), b1 = _mm256_loadu_ps(b + 8);
#pragma GCC unroll 6
    for (int i = 0; i < N; ++i) {
      const __m256 ai = _mm256_set1_ps(a[i]);
      sum[i][0] = _mm256_fmadd_ps(ai, b0, sum[i][0]);
      sum[i][1] = _mm256_fmadd_ps(ai, b1, sum[i][1]);
    }
  }
#pragma GCC unroll 6
  for (int i = 0; i < N; ++i) {
    _mm256_storeu_ps(c + i * pitch, sum[i][0]);
    _mm256_storeu_ps(c + i * pitch + 8, sum[i][1]);
  }
}

#endif

template <int N>
void block_portable(int64_t depth, const float* a, const float* b, float* c, int64_t pitch, bool accumulate) {
  constexpr int kRows = 4, kColumns = 8;
  float sum[N][kColumns];
  for (int i = 0; i < N; ++i) {
    for (int j = 0; j < kColumns; ++j) sum[i][j] = accumulate ? c[i * pitch + j] : 0;
  }
  for (int64_t k = 0; k < depth; ++k, a += kRows, b += kColumns) {
    for (int i = 0; i < N; ++i) {
      for (int j = 0; j < kColumns; ++j) sum[i][j] += a[i] * b[j];
    }
  }
  for (int i = 0; i < N; ++i) {
    for (int j = 0; j < kColumns; ++j) c[i * pitch + j] = sum[i][j];
  }
}

template <template <int> class Block, int... I>
void fill(HostKernels& kernels, std::integer_sequence<int, I...>) {
  ((kernels.block[I + 1] = Block<I + 1>::run), ...);
}

#if defined(__x86_64__)
template <int N>
struct Avx512 {
  static constexpr HostBlockFn run = block_avx512<N>;
};
template <int N>
struct Avx2 {
  static constexpr HostBlockFn run = block_avx2<N>;
};
#endif
template <int N>
struct Portable {
  static constexpr HostBlockFn run = block_portable<N>;
};

template <template <int> class Block, int Rows>
HostKernels kernels_of(int columns) {
  HostKernels kernels{Rows, columns};
  fill<Block>(kernels, std::make_integer_sequence<int, Rows>());
  return kernels;
}

std::vector<HostKernels> usable() {
  std::vector<HostKernels> found;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) found.push_back(kernels_of<Avx512, 12>(32));
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) found.push_back(kernels_of<Avx2, 6>(16));
#endif
  found.push_back(kernels_of<Portable, 4>(8));
  return found;
}

}  // namespace

const std::vector<HostKernels>& usable_host_kernels() {
  static const std::vector<HostKernels> kernels = usable();
  return kernels;
}

}  // namespace coda
