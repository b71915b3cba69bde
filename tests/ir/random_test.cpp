// Random bits are those of Philox 4x32-10, in meaning and in code: known answers of Random123 (Salmon et al., SC11).
#include <catch2/catch.hpp>

#include "compiler/ops/op.h"
#include "scalar_emitter.h"

using namespace coda;
using namespace coda::test;

namespace {

/// Counter words c0 to c3, key words k0 and k1, and the first word of the block.
struct KnownAnswer {
  uint32_t counter[4], key[2], first;
};
// kat_vectors, lines "philox4x32 10".
constexpr KnownAnswer kAnswers[] = {
    {{0, 0, 0, 0}, {0, 0}, 0x6627e8d5},
    {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}, 0x408f276d},
    {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}, 0xd16cfe09},
};

int64_t joined(uint32_t low, uint32_t high) { return static_cast<int64_t>(uint64_t{high} << 32 | low); }

}  // namespace

TEST_CASE("random bits have the published answers") {
  const Op& op = *find_op("random_bits");
  int in_meaning = 0;
  for (const KnownAnswer& known : kAnswers) {
    const int64_t arguments[] = {joined(known.counter[0], known.counter[1]), joined(known.key[0], known.key[1]),
                                 joined(known.counter[2], known.counter[3])};
    ScalarEmitter e;
    std::vector<Val> vals;
    std::vector<double> exact;
    for (const int64_t argument : arguments) {
      vals.push_back(e.integer(argument));
      const auto value = static_cast<double>(argument);
      if (value > -0x1p63 && value < 0x1p63 && static_cast<int64_t>(value) == argument) exact.push_back(value);
    }
    CHECK(ScalarEmitter::value_of(op.emit(e, vals, NumClass::Int), NumClass::Int) == known.first);
    if (exact.size() < 3) continue;  // more than 53 bits: no f64
    CHECK(op.eval(exact) == known.first);
    ++in_meaning;
  }
  CHECK(in_meaning == 2);
}

TEST_CASE("random bits differ with element, seed and offset, and half of them are set") {
  const Op& op = *find_op("random_bits");
  ScalarEmitter e;
  int64_t set = 0;
  constexpr int kCount = 4096;
  for (int i = 0; i < kCount; ++i) {
    const std::vector<double> arguments = {static_cast<double>(i), 7, 3};
    const auto bits = static_cast<uint32_t>(op.eval(arguments));
    const std::vector<Val> vals = {e.integer(i), e.integer(7), e.integer(3)};
    REQUIRE(ScalarEmitter::value_of(op.emit(e, vals, NumClass::Int), NumClass::Int) == bits);
    set += __builtin_popcount(bits);
  }
  CHECK(std::abs(static_cast<double>(set) / kCount - 16) < 0.25);
  const std::vector<double> element{1, 0, 0}, seed{0, 1, 0}, offset{0, 0, 1};
  CHECK(op.eval(element) != op.eval(seed));
  CHECK(op.eval(element) != op.eval(offset));
  CHECK(op.eval(seed) != op.eval(offset));
}
