// Random numbers by counting: Philox 4x32-10 (Salmon et al., SC11), a function of seed, offset and element alone. What
// the elements of a tensor are numbered by is the program's business (`element(x)`), so tiles and threads don't show.
#include <array>

#include "compiler/ops/families.h"

namespace coda {

namespace {

constexpr int kRounds = 10;
constexpr uint32_t kMultipliers[2] = {0xD2511F53, 0xCD9E8D57};
constexpr uint32_t kWeyl[2] = {0x9E3779B9, 0xBB67AE85};
constexpr int64_t kWord = int64_t{1} << 32;

/// The first word of the block that a counter and a key give.
uint32_t philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t a = uint64_t{kMultipliers[0]} * counter[0], b = uint64_t{kMultipliers[1]} * counter[2];
    counter = {static_cast<uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(b),
               static_cast<uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(a)};
    for (size_t i = 0; i < 2; ++i) key[i] += kWeyl[i];
  }
  return counter[0];
}

double eval_random(std::span<const double> args) {
  const auto low = [&](size_t i) { return static_cast<uint32_t>(static_cast<int64_t>(args[i])); };
  const auto high = [&](size_t i) { return static_cast<uint32_t>(static_cast<int64_t>(args[i]) >> 32); };
  return philox({low(0), high(0), low(2), high(2)}, {low(1), high(1)});
}

/// The same; 32-bit words are i64 in [0, 2^32).
Val emit_random(Emitter& e, std::span<const Val> args, NumClass) {
  const auto low = [&](Val x) { return e.int_mod(x, e.integer(kWord)); };
  const auto high = [&](Val x) { return e.int_mod(e.int_floordiv(x, e.integer(kWord)), e.integer(kWord)); };
  Val counter[4] = {low(args[0]), high(args[0]), low(args[2]), high(args[2])};
  Val key[2] = {low(args[1]), high(args[1])};
  for (int round = 0; round < kRounds; ++round) {
    const Val a = e.int_mul(counter[0], e.integer(kMultipliers[0]));
    const Val b = e.int_mul(counter[2], e.integer(kMultipliers[1]));
    const Val first = e.int_xor(e.int_xor(high(b), counter[1]), key[0]);
    const Val third = e.int_xor(e.int_xor(high(a), counter[3]), key[1]);
    counter[0] = first, counter[1] = low(b), counter[2] = third, counter[3] = low(a);
    for (size_t i = 0; i < 2; ++i) key[i] = low(e.int_add(key[i], e.integer(kWeyl[i])));
  }
  return counter[0];
}

constexpr Op kOps[] = {
    {.name = "random_bits",
     .arity = 3,
     .rule = ClassRule::Int,
     .doc = "32 random bits, a number in [0, 2^32): word 0 of Philox 4x32-10 for counter x, key y and offset z.",
     .example = "random_bits(index(N), 7, 0)",
     .eval = eval_random,
     .emit = emit_random,
     .ulp = 0},
};

}  // namespace

std::span<const Op> random_ops() { return kOps; }

}  // namespace coda
