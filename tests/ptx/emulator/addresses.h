// Where the spaces of memory lie in generic addresses. Global memory is the host's, at its own addresses.
#pragma once

#include <cstdint>

namespace coda::ptx {

constexpr uint64_t kSharedWindow = uint64_t{1} << 56, kParamWindow = uint64_t{1} << 57,
                   kLocalWindow = uint64_t{1} << 58;
/// Shared memory begins above what the system keeps for itself; the CTA's rank in its cluster is above its offset.
constexpr uint32_t kSharedStart = 1024, kRankShift = 24;

constexpr uint64_t shared_address(unsigned rank, uint64_t offset) {
  return (uint64_t{rank} << kRankShift) + kSharedStart + offset;
}

}  // namespace coda::ptx
