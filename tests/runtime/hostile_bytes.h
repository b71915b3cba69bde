// Stored files with one byte changed and the checksum made right again: what only a reader's own checks can refuse.
#pragma once

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <span>
#include <vector>

#include "runtime/format/hash.h"

namespace coda::testing {

/// Calls `refuses(changed)`, true if it refuses, for each byte behind the header; gives how often it did.
template <class F>
int count_refusals(const std::vector<uint8_t>& bytes, F refuses) {
  constexpr size_t kHeader = 20, kChecksum = 16;
  const size_t body = bytes.size() - kChecksum;
  int refused = 0;
  for (size_t i = kHeader; i < body; ++i) {
    for (const uint8_t value : {uint8_t{0}, uint8_t{0x7f}, uint8_t{0xff}, static_cast<uint8_t>(bytes[i] + 1)}) {
      auto changed = bytes;
      changed[i] = value;
      const Hash128 sum = hash_bytes(std::span(changed).first(body));
      std::memcpy(changed.data() + body, &sum.high, 8);
      std::memcpy(changed.data() + body + 8, &sum.low, 8);
      refused += refuses(changed);
    }
  }
  return refused;
}

}  // namespace coda::testing
