// A 128-bit FNV-1a hash: checksums of stored bytes (any single changed byte changes it) and names of cache entries
// (which hold the whole key, so a collision is only a miss). Not for adversaries.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>

namespace coda {

struct Hash128 {
  uint64_t high = 0, low = 0;
  bool operator==(const Hash128&) const = default;
  /// 32 hexadecimal digits.
  std::string hex() const;
};

Hash128 hash_bytes(std::span<const uint8_t> bytes);

}  // namespace coda
