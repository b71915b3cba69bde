#include "runtime/format/hash.h"

#include <cstring>

namespace coda {

namespace {

__extension__ using Word = unsigned __int128;

constexpr Word word(uint64_t high, uint64_t low) { return Word(high) << 64 | low; }
// Digits of pi and of the golden ratio; the second is odd.
constexpr Word kStart = word(0x243f6a8885a308d3, 0x13198a2e03707344);
constexpr Word kFactor = word(0x9e3779b97f4a7c15, 0xf39cc0605cedc835);

/// One to one, and so are its parts: the product carries upwards what the shift brings down again.
Word mixed(Word hash) {
  hash *= kFactor;
  return hash ^ hash >> 64;
}

}  // namespace

Hash128 hash_bytes(std::span<const uint8_t> bytes) {
  Word hash = mixed(kStart ^ Word(bytes.size()));
  while (!bytes.empty()) {
    Word next = 0;
    const size_t size = bytes.size() < sizeof(next) ? bytes.size() : sizeof(next);
    std::memcpy(&next, bytes.data(), size);
    hash = mixed(hash ^ next);
    bytes = bytes.subspan(size);
  }
  hash = mixed(mixed(hash));
  return {static_cast<uint64_t>(hash >> 64), static_cast<uint64_t>(hash)};
}

std::string Hash128::hex() const {
  std::string text;
  for (const uint64_t part : {high, low}) {
    for (int shift = 60; shift >= 0; shift -= 4) text += "0123456789abcdef"[(part >> shift) & 15];
  }
  return text;
}

}  // namespace coda
