#include "runtime/format/hash.h"

#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <random>
#include <set>
#include <vector>

using namespace coda;

namespace {

std::vector<uint8_t> some_bytes(size_t size) {
  std::mt19937 random(5);
  std::vector<uint8_t> bytes(size);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
  return bytes;
}

}  // namespace

TEST_CASE("a hash is the same everywhere") {
  std::vector<uint8_t> bytes(100);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i);
  CHECK(hash_bytes({}).hex() == "e10924139b6cb19b4eded290bec8ec34");
  CHECK(hash_bytes(bytes).hex() == "984269507fa0c28b3b21dfda8aaa904c");
}

TEST_CASE("every changed bit changes about half of a hash's bits, in both halves") {
  const auto bytes = some_bytes(77);
  const Hash128 hash = hash_bytes(bytes);
  int low = 0, high = 0;
  for (size_t i = 0; i < 8 * bytes.size(); ++i) {
    auto changed = bytes;
    changed[i / 8] ^= static_cast<uint8_t>(1u << (i % 8));
    const Hash128 other = hash_bytes(changed);
    const int in_high = std::popcount(hash.high ^ other.high), in_low = std::popcount(hash.low ^ other.low);
    CHECK(in_high > 8);
    CHECK(in_low > 8);
    high += in_high;
    low += in_low;
  }
  for (const int sum : {low, high}) {
    CHECK(sum > 30 * 8 * 77);
    CHECK(sum < 34 * 8 * 77);
  }
}

TEST_CASE("lengths, zeros, and pieces in another order are told apart") {
  std::set<std::string> seen;
  size_t count = 0;
  const auto add = [&](std::span<const uint8_t> bytes) {
    seen.insert(hash_bytes(bytes).hex());
    ++count;
  };
  const std::vector<uint8_t> zeros(200);
  for (size_t size = 0; size <= zeros.size(); ++size) add(std::span(zeros).first(size));
  const auto bytes = some_bytes(160);
  for (size_t size = 1; size <= bytes.size(); ++size) add(std::span(bytes).first(size));
  for (size_t a = 0; a < 10; ++a) {
    for (size_t b = a + 1; b < 10; ++b) {
      auto swapped = bytes;
      std::swap_ranges(swapped.begin() + static_cast<long>(16 * a), swapped.begin() + static_cast<long>(16 * a + 16),
                       swapped.begin() + static_cast<long>(16 * b));
      add(swapped);
    }
  }
  CHECK(seen.size() == count);
}
