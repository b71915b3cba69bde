// Ops of one argument whose result is exact or correctly rounded: signs, roundings to whole numbers, roots.
#include <cmath>

#include "compiler/ops/families.h"

namespace coda {

namespace {

using Args = std::span<const double>;
using Vals = std::span<const Val>;

Val below_zero(Emitter& e, Val x, NumClass num_class) {
  return e.compare(Compare::Lt, x, num_class == NumClass::Int ? e.integer(0) : e.real(0), num_class);
}

Val emit_neg(Emitter& e, Vals a, NumClass num_class) {
  return num_class == NumClass::Int ? e.int_sub(e.integer(0), a[0]) : e.neg(a[0]);
}

Val emit_abs(Emitter& e, Vals a, NumClass num_class) {
  if (num_class == NumClass::Real) return e.abs(a[0]);
  return e.select(below_zero(e, a[0], num_class), e.int_sub(e.integer(0), a[0]), a[0]);
}

Val emit_sign(Emitter& e, Vals a, NumClass num_class) {
  auto number = [&](int value) { return num_class == NumClass::Int ? e.integer(value) : e.real(value); };
  const Val above = e.compare(Compare::Gt, a[0], number(0), num_class);
  // What is neither is a zero or NaN, its own sign.
  return e.select(above, number(1), e.select(below_zero(e, a[0], num_class), number(-1), a[0]));
}

/// Rounding ops leave an Int as it is.
template <Val (*Round)(Emitter&, Val)>
Val emit_rounding(Emitter& e, Vals a, NumClass num_class) {
  return num_class == NumClass::Int ? a[0] : Round(e, a[0]);
}

Val round_down(Emitter& e, Val x) { return e.floor(x); }
Val round_up(Emitter& e, Val x) { return e.neg(e.floor(e.neg(x))); }
Val round_toward_zero(Emitter& e, Val x) { return e.copysign(e.floor(e.abs(x)), x); }
Val round_to_even(Emitter& e, Val x) {
  // Adding 2^23 leaves no bits below one; the addition itself rounds to nearest, ties to even.
  const Val magnitude = e.abs(x), shift = e.real(8388608);
  const Val rounded = e.sub(e.add(magnitude, shift), shift);
  const Val has_fraction = e.compare(Compare::Lt, magnitude, shift, NumClass::Real);
  return e.select(has_fraction, e.copysign(rounded, x), x);
}

constexpr Op kOps[] = {
    {.name = "neg",
     .arity = 1,
     .rule = ClassRule::Same,
     .doc = "The negative of x.",
     .example = "-x",
     .eval = [](Args a) { return -a[0]; },
     .emit = emit_neg,
     .ulp = 0,
     .grad = {"-g"}},
    {.name = "abs",
     .arity = 1,
     .rule = ClassRule::Same,
     .doc = "The magnitude of x.",
     .example = "abs(x)",
     .eval = [](Args a) { return std::fabs(a[0]); },
     .emit = emit_abs,
     .ulp = 0,
     .grad = {"g*sign(x)"}},
    {.name = "sign",
     .arity = 1,
     .rule = ClassRule::Same,
     .doc = "1 where x is positive, -1 where it is negative, x itself where it is zero or NaN.",
     .example = "sign(x)",
     .eval = [](Args a) { return a[0] > 0   ? 1.0
                                 : a[0] < 0 ? -1.0
                                            : a[0]; },
     .emit = emit_sign,
     .ulp = 0,
     .grad = {"0"}},
    {.name = "floor",
     .arity = 1,
     .rule = ClassRule::Same,
     .doc = "The largest whole number not above x.",
     .example = "floor(x)",
     .eval = [](Args a) { return std::floor(a[0]); },
     .emit = emit_rounding<round_down>,
     .ulp = 0,
     .grad = {"0"}},
    {.name = "ceil",
     .arity = 1,
     .rule = ClassRule::Same,
     .doc = "The smallest whole number not below x.",
     .example = "ceil(x)",
     .eval = [](Args a) { return std::ceil(a[0]); },
     .emit = emit_rounding<round_up>,
     .ulp = 0,
     .grad = {"0"}},
    {.name = "trunc",
     .arity = 1,
     .rule = ClassRule::Same,
     .doc = "x rounded to a whole number toward zero.",
     .example = "trunc(x)",
     .eval = [](Args a) { return std::trunc(a[0]); },
     .emit = emit_rounding<round_toward_zero>,
     .ulp = 0,
     .grad = {"0"}},
    {.name = "round",
     .arity = 1,
     .rule = ClassRule::Same,
     .doc = "x rounded to the nearest whole number, halves to the even one.",
     .example = "round(x)",
     .eval = [](Args a) { return std::nearbyint(a[0]); },
     .emit = emit_rounding<round_to_even>,
     .ulp = 0,
     .grad = {"0"}},
    {.name = "sqrt",
     .arity = 1,
     .rule = ClassRule::Real,
     .doc = "The square root of x; NaN below zero.",
     .example = "sqrt(x)",
     .eval = [](Args a) { return std::sqrt(a[0]); },
     .emit = [](Emitter& e, Vals a, NumClass) { return e.sqrt(a[0]); },
     .domain_low = 0,
     .domain_high = 1e6,
     .ulp = 0.5,
     .grad = {"0.5*g/r"}},
    {.name = "rsqrt",
     .arity = 1,
     .rule = ClassRule::Real,
     .doc = "One over the square root of x; infinite at zero, NaN below.",
     .example = "rsqrt(x)",
     .eval = [](Args a) { return 1 / std::sqrt(a[0]); },
     .emit = [](Emitter& e, Vals a, NumClass) { return e.rsqrt(a[0]); },
     .domain_low = 1e-6,
     .domain_high = 1e6,
     .ulp = 2,
     .grad = {"-0.5*g*r*r*r"}},
    {.name = "recip",
     .arity = 1,
     .rule = ClassRule::Real,
     .doc = "One over x.",
     .example = "recip(x)",
     .eval = [](Args a) { return 1 / a[0]; },
     .emit = [](Emitter& e, Vals a, NumClass) { return e.rcp(a[0]); },
     .domain_low = -100,
     .domain_high = 100,
     .ulp = 2,
     .grad = {"-g*r*r"}},
};

}  // namespace

std::span<const Op> unary_ops() { return kOps; }

}  // namespace coda
