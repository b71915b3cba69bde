#include "runtime/format/hash.h"

namespace coda {

Hash128 hash_bytes(std::span<const uint8_t> bytes) {
  __extension__ using Word = unsigned __int128;
  Word hash = (Word(0x6c62272e07bb0142) << 64) | 0x62b821756295c58d;  // FNV's offset basis and prime for 128 bits
  constexpr Word kPrime = (Word(0x0000000001000000) << 64) | 0x000000000000013b;
  for (const uint8_t byte : bytes) {
    hash ^= byte;
    hash *= kPrime;
  }
  return {static_cast<uint64_t>(hash >> 64), static_cast<uint64_t>(hash)};
}

std::string Hash128::hex() const {
  std::string text;
  for (const uint64_t word : {high, low}) {
    for (int shift = 60; shift >= 0; shift -= 4) text += "0123456789abcdef"[(word >> shift) & 15];
  }
  return text;
}

}  // namespace coda
