// A 128-bit hash: checksums of stored bytes (any change within 16 bytes at a multiple of 16 changes it, so any changed
// byte does) and names of cache entries (which hold the whole key, so a collision is only a miss). Not for adversaries.
// It takes 16 bytes at a time: what is read from the cache is hashed twice, as the key's PTX and as the entry, before
// it is loaded.
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
