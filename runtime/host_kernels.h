// The register blocks of the host's product: the best that this processor runs.
#pragma once

#include <cstdint>
#include <vector>

namespace coda {

inline constexpr int kHostMaxBlockRows = 12;

/// c[i][j] (+)= sum over k of a[k][i] * b[k][j], for `rows` x `columns` blocks of packed f32: a is [depth][pitch of a],
/// b is [depth][columns], c has rows `pitch` apart.
using HostBlockFn = void (*)(int64_t depth, const float* a, const float* b, float* c, int64_t pitch, bool accumulate);

struct HostKernels {
  int rows, columns;                              ///< of the full block
  HostBlockFn block[kHostMaxBlockRows + 1] = {};  ///< by number of rows, 1 to `rows`; all read a with the pitch `rows`
};

/// Those that this processor runs, the best first.
const std::vector<HostKernels>& usable_host_kernels();
inline const HostKernels& host_kernels() { return usable_host_kernels().front(); }

}  // namespace coda
