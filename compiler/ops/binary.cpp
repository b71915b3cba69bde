// Ops of two arguments that are not sums or products (those are the IR's Sum and Contract).
#include <cmath>
#include <limits>

#include "compiler/ops/families.h"
#include "compiler/ops/precise.h"

namespace coda {

namespace {

using Args = std::span<const double>;
using Vals = std::span<const Val>;

template <bool Least>
double eval_extreme(Args a) {
  if (std::isnan(a[0]) || std::isnan(a[1])) return std::numeric_limits<double>::quiet_NaN();
  return (Least ? a[1] < a[0] : a[1] > a[0]) ? a[1] : a[0];
}

template <bool Least>
Val emit_extreme(Emitter& e, Vals a, NumClass num_class) {
  if (num_class == NumClass::Real) return Least ? e.min(a[0], a[1]) : e.max(a[0], a[1]);
  const Val second = e.compare(Least ? Compare::Lt : Compare::Gt, a[1], a[0], num_class);
  return e.select(second, a[1], a[0]);
}

// Whole division by 0 gives 0 and remainder 0 for Int, as no trap may reach the user; for Real they are IEEE's.
double eval_floordiv(Args a) { return std::floor(a[0] / a[1]); }
double eval_mod(Args a) {
  const double remainder = std::fmod(a[0], a[1]);
  return remainder != 0 && (remainder < 0) != (a[1] < 0) ? remainder + a[1] : remainder;
}

/// A divisor that no machine traps on (0, and -1 of the least Int), and what to answer there.
Val emit_int_division(Emitter& e, Val a, Val b, bool want_remainder) {
  const Val zero = e.integer(0), one = e.integer(1);
  const Val is_zero = e.compare(Compare::Eq, b, zero, NumClass::Int);
  const Val is_minus_one = e.compare(Compare::Eq, b, e.integer(-1), NumClass::Int);
  const Val divisor = e.select(e.logical_or(is_zero, is_minus_one), one, b);
  // The remainder by 1, which stands in for both, is 0 already.
  if (want_remainder) return e.int_mod(a, divisor);
  const Val quotient = e.int_floordiv(a, divisor);
  return e.select(is_zero, zero, e.select(is_minus_one, e.int_sub(zero, a), quotient));
}

Val emit_floordiv(Emitter& e, Vals a, NumClass num_class) {
  if (num_class == NumClass::Int) return emit_int_division(e, a[0], a[1], false);
  const Val quotient = e.div(a[0], a[1]);
  const Val whole = e.floor(quotient);
  // The division may have rounded up to a whole number: a - whole·b then has the other sign than b.
  const Val rest = e.fma(e.neg(whole), a[1], a[0]);
  const Val zero = e.real(0);
  const Val rest_below = e.compare(Compare::Lt, rest, zero, NumClass::Real);
  const Val rest_above = e.compare(Compare::Gt, rest, zero, NumClass::Real);
  const Val divisor_below = e.compare(Compare::Lt, a[1], zero, NumClass::Real);
  const Val divisor_finite =
      e.compare(Compare::Lt, e.abs(a[1]), e.real(std::numeric_limits<double>::infinity()), NumClass::Real);
  const Val too_far = e.select(divisor_below, rest_above, rest_below);
  return e.select(e.logical_and(too_far, divisor_finite), e.sub(whole, e.real(1)), whole);
}

Val emit_mod(Emitter& e, Vals a, NumClass num_class) {
  if (num_class == NumClass::Int) return emit_int_division(e, a[0], a[1], true);
  const Val whole = emit_floordiv(e, a, num_class);
  const Val rest = e.fma(e.neg(whole), a[1], a[0]);
  // x mod ±inf is x, or the infinity where the signs differ; the product above would be NaN.
  const Val zero = e.real(0), infinity = e.real(std::numeric_limits<double>::infinity());
  const Val divisor_infinite = e.compare(Compare::Eq, e.abs(a[1]), infinity, NumClass::Real);
  const Val x_finite = e.compare(Compare::Lt, e.abs(a[0]), infinity, NumClass::Real);
  const Val signs_differ = e.compare(Compare::Lt, e.mul(a[0], e.copysign(e.real(1), a[1])), zero, NumClass::Real);
  return e.select(e.logical_and(divisor_infinite, x_finite), e.select(signs_differ, a[1], a[0]), rest);
}

constexpr Op kOps[] = {
    {.name = "div",
     .arity = 2,
     .rule = ClassRule::Real,
     .doc = "The quotient x / y as a real number, also of two whole numbers.",
     .example = "x / y",
     .eval = [](Args a) { return a[0] / a[1]; },
     .emit = [](Emitter& e, Vals a, NumClass) { return e.div(a[0], a[1]); },
     .ulp = 0.5,
     .grad = {"g/y", "-g*r/y"}},
    {.name = "min",
     .arity = 2,
     .rule = ClassRule::Same,
     .doc = "The lesser of x and y; NaN if either is.",
     .example = "min(x, y)",
     .eval = eval_extreme<true>,
     .emit = emit_extreme<true>,
     .ulp = 0,
     .grad = {"select(x <= y, g, 0)", "select(x <= y, 0, g)"}},
    {.name = "max",
     .arity = 2,
     .rule = ClassRule::Same,
     .doc = "The greater of x and y; NaN if either is.",
     .example = "max(x, y)",
     .eval = eval_extreme<false>,
     .emit = emit_extreme<false>,
     .ulp = 0,
     .grad = {"select(x >= y, g, 0)", "select(x >= y, 0, g)"}},
    {.name = "floordiv",
     .arity = 2,
     .rule = ClassRule::Same,
     .doc = "The largest whole number not above x / y; of whole numbers by 0 it is 0.",
     .example = "floordiv(x, y)",
     .eval = eval_floordiv,
     .emit = emit_floordiv,
     .ulp = 0,
     .grad = {"0", "0"}},
    {.name = "mod",
     .arity = 2,
     .rule = ClassRule::Same,
     .doc = "x - y·floordiv(x, y), with the sign of y; of whole numbers by 0 it is 0. Sure while |x / y| < 2^22.",
     .example = "mod(x, y)",
     .eval = eval_mod,
     .emit = emit_mod,
     .ulp = 1,
     .grad = {"g", "-g*floordiv(x, y)"}},
    {.name = "pow",
     .arity = 2,
     .rule = ClassRule::Real,
     .doc = "x to the power y, with IEEE 754's special cases; a negative x needs a whole y.",
     .example = "x ** 3",
     .eval = [](Args a) { return std::pow(a[0], a[1]); },
     .emit = [](Emitter& e, Vals a, NumClass) { return emit_pow(e, a[0], a[1]); },
     .domain_low = 0.01,
     .domain_high = 20,
     .ulp = 4,
     .grad = {"g*y*pow(x, y - 1)", "select(x > 0, g*r*log(x), 0)"}},
};

}  // namespace

std::span<const Op> binary_ops() { return kOps; }

}  // namespace coda
