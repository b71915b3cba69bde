#include "compiler/ops/precise.h"

#include <iterator>
#include <limits>

namespace coda {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLn2 = 0.69314718055994530942;
constexpr double kLog2e = 1.44269504088896340736;

/// Head and tail of a constant: their f32 sum holds it to 48 bits.
struct Split {
  double head, tail;
  constexpr explicit Split(double value) : head(static_cast<float>(value)), tail(value - head) {}
};

/// 2^(head + tail) for a small tail. Outside the exponents of f32 the tail would only make NaN of an infinity.
Val exp2_of_two_terms(Emitter& e, Val head, Val tail) {
  const Val power = e.exp2(head);
  const Val corrected = e.fma(power, e.mul(tail, e.real(kLn2)), power);
  const Val in_range = e.compare(Compare::Lt, e.abs(head), e.real(128), NumClass::Real);
  return e.select(in_range, corrected, power);
}

struct TwoTerms {
  Val head, tail;
};

/// head + tail with the head rounded; |a| >= |b|, or a = 0.
TwoTerms fast_two_sum(Emitter& e, Val a, Val b) {
  const Val head = e.add(a, b);
  return {head, e.sub(b, e.sub(head, a))};
}

/// log2 of a positive finite x to about 2^-31 relative: x = 2^k·m with m near 1, then the series of atanh.
TwoTerms log2_of_two_terms(Emitter& e, Val x) {
  const Val k = e.floor(e.add(e.log2(x), e.real(0.5)));
  // In two steps, since 2^-k alone may be subnormal.
  const Val half = e.floor(e.mul(k, e.real(0.5)));
  const Val m = e.mul(e.mul(x, e.exp2(e.neg(half))), e.exp2(e.sub(half, k)));

  // q = (m - 1) / (m + 1) in two terms; m - 1 is exact.
  const Val one = e.real(1);
  const Val numerator = e.sub(m, one);
  const TwoTerms denominator = fast_two_sum(e, e.max(m, one), e.min(m, one));
  const Val q = e.div(numerator, denominator.head);
  const Val remainder = e.fma(e.neg(q), denominator.tail, e.fma(e.neg(q), denominator.head, numerator));
  const Val q_tail = e.div(remainder, denominator.head);

  const Val square = e.mul(q, q);
  const Val series = e.mul(square, emit_polynomial(e, square, {1.0 / 3, 1.0 / 5, 1.0 / 7, 1.0 / 9, 1.0 / 11}));
  const Val rest = e.fma(q, series, q_tail);
  constexpr Split kTwoLog2e(2 * kLog2e);
  const Val head = e.mul(q, e.real(kTwoLog2e.head));
  Val tail = e.fma(q, e.real(kTwoLog2e.head), e.neg(head));
  tail = e.fma(q, e.real(kTwoLog2e.tail), tail);
  tail = e.fma(rest, e.real(kTwoLog2e.head), tail);

  const TwoTerms sum = fast_two_sum(e, k, head);
  return fast_two_sum(e, sum.head, e.add(sum.tail, tail));
}

Val is_below(Emitter& e, Val a, Val b) { return e.compare(Compare::Lt, a, b, NumClass::Real); }
Val is_equal(Emitter& e, Val a, Val b) { return e.compare(Compare::Eq, a, b, NumClass::Real); }

}  // namespace

Val emit_polynomial(Emitter& e, Val x, std::initializer_list<double> coefficients) {
  auto it = std::rbegin(coefficients);
  Val value = e.real(*it);
  for (++it; it != std::rend(coefficients); ++it) value = e.fma(value, x, e.real(*it));
  return value;
}

Val emit_exp(Emitter& e, Val x) {
  // Off by |x| units: 2^-17 where the result is a number at all.
  if (e.is_approximate()) return e.exp2_normal(e.mul(x, e.real(kLog2e)));
  // x·log2(e) in two terms: its rounding alone would cost |x| units.
  constexpr Split kScale(kLog2e);
  const Val head = e.mul(x, e.real(kScale.head));
  const Val tail = e.fma(x, e.real(kScale.tail), e.fma(x, e.real(kScale.head), e.neg(head)));
  return exp2_of_two_terms(e, head, tail);
}

Val emit_log(Emitter& e, Val x) { return e.mul(e.log2(x), e.real(kLn2)); }

Val emit_pow(Emitter& e, Val x, Val y) {
  const Val zero = e.real(0), one = e.real(1), infinity = e.real(kInfinity);
  const Val magnitude = e.abs(x);
  const Val x_is_regular = e.logical_and(is_below(e, zero, magnitude), is_below(e, magnitude, infinity));
  const Val is_regular = e.logical_and(x_is_regular, is_below(e, e.abs(y), infinity));

  const TwoTerms log = log2_of_two_terms(e, e.select(is_regular, magnitude, one));
  const Val head = e.mul(y, log.head);
  const Val tail = e.fma(y, log.tail, e.fma(y, log.head, e.neg(head)));
  const Val special = e.exp2(e.mul(y, e.log2(magnitude)));
  Val power = e.select(is_regular, exp2_of_two_terms(e, head, tail), special);
  power = e.select(is_equal(e, magnitude, one), one, power);

  const Val is_whole = is_equal(e, e.floor(y), y);
  const Val half = e.mul(y, e.real(0.5));
  const Val is_odd = e.logical_and(is_whole, e.logical_not(is_equal(e, e.floor(half), half)));
  const Val is_negative = is_below(e, e.copysign(one, x), zero);
  Val signed_power = e.select(is_odd, e.neg(power), power);
  const Val undefined = e.logical_and(x_is_regular, e.logical_not(is_whole));
  signed_power = e.select(undefined, e.real(std::numeric_limits<double>::quiet_NaN()), signed_power);
  power = e.select(is_negative, signed_power, power);
  return e.select(e.logical_or(is_equal(e, y, zero), is_equal(e, x, one)), one, power);
}

}  // namespace coda
