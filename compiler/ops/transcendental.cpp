// Exponentials, logarithms, hyperbolic and circular functions. The polynomials were fitted for least greatest relative
// error of the whole function over the stated interval (mpmath, 30 digits).
#include <cmath>
#include <limits>

#include "compiler/ops/families.h"
#include "compiler/ops/precise.h"

namespace coda {

namespace {

using Args = std::span<const double>;
using Vals = std::span<const Val>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Val is_below(Emitter& e, Val a, double b) { return e.compare(Compare::Lt, a, e.real(b), NumClass::Real); }

Val emit_expm1(Emitter& e, Vals a, NumClass) {
  // Below 1 the series, whose next term is 2^-25 of the result; above it exp(x) - 1 cancels little.
  const Val x = a[0];
  const Val series = emit_polynomial(
      e, x, {1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040, 1.0 / 40320, 1.0 / 362880, 1.0 / 3628800});
  const Val near = e.copysign(e.fma(e.mul(x, x), series, x), x);  // the fma alone would make +0 of -0
  return e.select(is_below(e, e.abs(x), 1), near, e.sub(emit_exp(e, x), e.real(1)));
}

Val emit_log1p(Emitter& e, Vals a, NumClass) {
  // log(u)·x/(u - 1) with u = 1 + x rounded: what the rounding took from x, the quotient gives back.
  const Val x = a[0], one = e.real(1);
  const Val u = e.add(one, x), rounded = e.sub(u, one);
  const Val corrected = e.mul(emit_log(e, u), e.div(x, rounded));
  const Val vanishes = e.compare(Compare::Eq, rounded, e.real(0), NumClass::Real);
  const Val infinite = e.compare(Compare::Eq, x, e.real(kInfinity), NumClass::Real);
  return e.select(e.logical_or(vanishes, infinite), x, corrected);
}

Val emit_tanh(Emitter& e, Vals a, NumClass) {
  if (e.is_approximate()) return e.tanh_fast(a[0]);
  const Val x = a[0], magnitude = e.abs(x), square = e.mul(x, x);
  // |x| < 0.625: x + x³·P(x²); beyond: 1 - 2/(exp(2|x|) + 1).
  const Val p = emit_polynomial(
      e, square, {-0.333332760547, 0.133312743327, -0.0537251195572, 0.0205898064355, -0.00564829659056});
  const Val near = e.fma(e.mul(x, square), p, x);
  const Val exponential = emit_exp(e, e.add(magnitude, magnitude));
  const Val far = e.sub(e.real(1), e.mul(e.real(2), e.rcp(e.add(exponential, e.real(1)))));
  return e.copysign(e.select(is_below(e, magnitude, 0.625), near, far), x);  // near would make +0 of -0
}

/// Small values keep all their digits, which tanh would lose: 1/2 + tanh(x/2)/2 cancels where x is far below zero.
Val emit_sigmoid(Emitter& e, Vals a, NumClass) {
  const Val denominator = e.add(e.real(1), emit_exp(e, e.neg(a[0])));
  return e.is_approximate() ? e.rcp_normal(denominator) : e.rcp(denominator);
}

/// x·P(x²) up to |x| = 3, where erf is 1 - 2^-15; off by 2^-15 of the value.
Val emit_erf_approximate(Emitter& e, Val a) {
  const Val x = e.max(e.min(a, e.real(3)), e.real(-3));
  const Val p = emit_polynomial(e, e.mul(x, x),
                                {1.12835342064, -0.37570454472, 0.111625773589, -0.025456484038, 0.0043589404514,
                                 -0.00053580620585, 4.3914080126e-5, -2.1203831982e-6, 4.5211506103e-8});
  return e.mul(x, p);
}

Val emit_erf(Emitter& e, Vals a, NumClass) {
  if (e.is_approximate()) return emit_erf_approximate(e, a[0]);
  const Val x = a[0], square = e.mul(x, x);
  // |x| < 0.92: x + x·P(x²); beyond: 1 - exp(-t - t·Q(t)) with t = |x| up to 4, where erf rounds to 1.
  const Val p = emit_polynomial(e, square,
                                {0.128379166599, -0.376126333713, 0.112836899505, -0.0268590925118, 0.00520027661768,
                                 -0.000813415935747, 8.33409502781e-5});
  const Val near = e.fma(x, p, x);
  const Val t = e.min(e.abs(x), e.real(4));
  const Val q = emit_polynomial(e, t,
                                {0.128637077252, 0.635198022495, 0.106159075642, -0.0236945961577, 0.00361036028297,
                                 -0.000314863736889, 1.04337960904e-5});
  const Val far = e.sub(e.real(1), emit_exp(e, e.neg(e.fma(t, q, t))));
  return e.select(is_below(e, e.abs(x), 0.92), near, e.copysign(far, x));
}

constexpr Op kOps[] = {
    {.name = "exp",
     .arity = 1,
     .rule = ClassRule::Real,
     .doc = "e to the power x.",
     .example = "exp(x)",
     .eval = [](Args a) { return std::exp(a[0]); },
     .emit = [](Emitter& e, Vals a, NumClass) { return emit_exp(e, a[0]); },
     .domain_low = -87,
     .domain_high = 88,
     .ulp = 4,
     .grad = {"g*r"}},
    {.name = "exp2",
     .arity = 1,
     .rule = ClassRule::Real,
     .doc = "2 to the power x.",
     .example = "exp2(x)",
     .eval = [](Args a) { return std::exp2(a[0]); },
     .emit = [](Emitter& e, Vals a, NumClass) { return e.exp2(a[0]); },
     .domain_low = -126,
     .domain_high = 127,
     .ulp = 2,
     .grad = {"0.6931471805599453*g*r"}},
    {.name = "expm1",
     .arity = 1,
     .rule = ClassRule::Real,
     .doc = "exp(x) - 1, precise also near zero.",
     .example = "expm1(x)",
     .eval = [](Args a) { return std::expm1(a[0]); },
     .emit = emit_expm1,
     .domain_low = -10,
     .domain_high = 20,
     .ulp = 6,
     .grad = {"g*(r + 1)"}},
    {.name = "log",
     .arity = 1,
     .rule = ClassRule::Real,
     .doc = "The natural logarithm; -inf at zero, NaN below.",
     .example = "log(x)",
     .eval = [](Args a) { return std::log(a[0]); },
     .emit = [](Emitter& e, Vals a, NumClass) { return emit_log(e, a[0]); },
     .domain_low = 1e-6,
     .domain_high = 1e6,
     .ulp = 4,
     .grad = {"g/x"}},
    {.name = "log2",
     .arity = 1,
     .rule = ClassRule::Real,
     .doc = "The logarithm to base 2; -inf at zero, NaN below.",
     .example = "log2(x)",
     .eval = [](Args a) { return std::log2(a[0]); },
     .emit = [](Emitter& e, Vals a, NumClass) { return e.log2(a[0]); },
     .domain_low = 1e-6,
     .domain_high = 1e6,
     .ulp = 2,
     .grad = {"1.4426950408889634*g/x"}},
    {.name = "log1p",
     .arity = 1,
     .rule = ClassRule::Real,
     .doc = "log(1 + x), precise also near zero.",
     .example = "log1p(x)",
     .eval = [](Args a) { return std::log1p(a[0]); },
     .emit = emit_log1p,
     .domain_low = -0.9,
     .domain_high = 100,
     .ulp = 6,
     .grad = {"g/(1 + x)"}},
    {.name = "tanh",
     .arity = 1,
     .rule = ClassRule::Real,
     .doc = "The hyperbolic tangent.",
     .example = "tanh(x)",
     .eval = [](Args a) { return std::tanh(a[0]); },
     .emit = emit_tanh,
     .domain_low = -10,
     .domain_high = 10,
     .ulp = 4,
     .grad = {"g*(1 - r*r)"}},
    {.name = "tanh_fast",
     .arity = 1,
     .rule = ClassRule::Real,
     .doc = "The hyperbolic tangent to about 2^-11, one instruction on a GPU: right where 16 bits are stored.",
     .example = "tanh_fast(x)",
     .eval = [](Args a) { return std::tanh(a[0]); },
     .emit = [](Emitter& e, Vals a, NumClass) { return e.tanh_fast(a[0]); },
     .domain_low = -10,
     .domain_high = 10,
     .ulp = 8192,
     .grad = {"g*(1 - r*r)"}},
    {.name = "sigmoid",
     .arity = 1,
     .rule = ClassRule::Real,
     .doc = "1 / (1 + exp(-x)).",
     .example = "sigmoid(x)",
     .eval = [](Args a) { return 1 / (1 + std::exp(-a[0])); },
     .emit = emit_sigmoid,
     .domain_low = -80,
     .domain_high = 80,
     .ulp = 6,
     .grad = {"g*r*(1 - r)"}},
    {.name = "erf",
     .arity = 1,
     .rule = ClassRule::Real,
     .doc = "The error function, 2/sqrt(pi) times the integral of exp(-t²) from 0 to x.",
     .example = "erf(x)",
     .eval = [](Args a) { return std::erf(a[0]); },
     .emit = emit_erf,
     .domain_low = -5,
     .domain_high = 5,
     .ulp = 3,
     .grad = {"1.1283791670955126*g*exp(-x*x)"}},
    {.name = "sin",
     .arity = 1,
     .rule = ClassRule::Real,
     .doc = "The sine of x in radians.",
     .example = "sin(x)",
     .eval = [](Args a) { return std::sin(a[0]); },
     .emit = [](Emitter& e, Vals a, NumClass) { return e.sin(a[0]); },
     .domain_low = -3,
     .domain_high = 3,
     .ulp = 4,
     .grad = {"g*cos(x)"}},
    {.name = "cos",
     .arity = 1,
     .rule = ClassRule::Real,
     .doc = "The cosine of x in radians.",
     .example = "cos(x)",
     .eval = [](Args a) { return std::cos(a[0]); },
     .emit = [](Emitter& e, Vals a, NumClass) { return e.cos(a[0]); },
     .domain_low = -1.5,
     .domain_high = 1.5,
     .ulp = 4,
     .grad = {"-g*sin(x)"}},
};

}  // namespace

std::span<const Op> transcendental_ops() { return kOps; }

}  // namespace coda
