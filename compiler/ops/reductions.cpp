// Reductions as commutative monoids with a lift and a finish: one record makes the evaluator's fold and the code of
// every partial, combination and finish.
#include <cmath>
#include <limits>

#include "compiler/ops/families.h"
#include "compiler/ops/precise.h"

namespace coda {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLog2e = 1.44269504088896340736;

double first_word(const double* state, double) { return state[0]; }
Val emit_first_word(Emitter&, const Val* state, Val) { return state[0]; }

double greater(double a, double b) { return std::isnan(a) || a > b ? a : b; }
double lesser(double a, double b) { return std::isnan(a) || a < b ? a : b; }

Val is_not_zero(Emitter& e, Val x) { return e.compare(Compare::Ne, x, e.real(0), NumClass::Real); }

// logsumexp keeps (m, s): m the largest element, s the sum of exp(x - m). Equal exponents, also equal infinities, have
// the ratio 1, so that no (-inf) - (-inf) ever makes a NaN.
double exp_of_difference(double a, double b) { return a == b ? 1 : std::exp(a - b); }

void combine_logsumexp(double* into, const double* other) {
  const double largest = greater(into[0], other[0]);
  into[1] = into[1] * exp_of_difference(into[0], largest) + other[1] * exp_of_difference(other[0], largest);
  into[0] = largest;
}

void lift_logsumexp(double x, double* state) {
  const double single[2] = {x, 1};
  combine_logsumexp(state, single);
}

double finish_logsumexp(const double* state, double) { return state[0] + std::log(state[1]); }

/// One exponential for both sides: the greater one is scaled by 1, the lesser by exp(-|difference|). The plain exp2
/// will do: its relative error grows with the difference as its value falls.
void emit_combine_logsumexp(Emitter& e, Val* into, const Val* other) {
  const Val same = e.compare(Compare::Eq, into[0], other[0], NumClass::Real);
  const Val distance = e.select(same, e.real(0), e.abs(e.sub(into[0], other[0])));
  const Val ratio = e.exp2_normal(e.mul(distance, e.real(-kLog2e)));
  const Val keeps = e.compare(Compare::Ge, into[0], other[0], NumClass::Real);
  into[1] = e.select(keeps, e.fma(other[1], ratio, into[1]), e.fma(into[1], ratio, other[1]));
  into[0] = e.max(into[0], other[0]);
}

void emit_lift_logsumexp(Emitter& e, Val x, Val* state) {
  const Val single[2] = {x, e.real(1)};
  emit_combine_logsumexp(e, state, single);
}

/// One rescaling for all: the new maximum, then a sum of exponentials. An infinite maximum is not subtracted, so that
/// no
/// (-inf) - (-inf) makes a NaN; +inf then comes out of the exponential itself.
void emit_lift_many_logsumexp(Emitter& e, std::span<const Val> elements, Val* state) {
  Val largest = state[0];
  for (const Val x : elements) largest = e.max(largest, x);
  const Val is_infinite = e.compare(Compare::Eq, e.abs(largest), e.real(kInfinity), NumClass::Real);
  const Val base = e.select(is_infinite, e.real(0), largest);
  const auto exponential = [&](Val x) { return e.exp2_normal(e.mul(e.sub(x, base), e.real(kLog2e))); };
  Val sum = e.mul(state[1], exponential(state[0]));
  for (const Val x : elements) sum = e.add(sum, exponential(x));
  state[0] = largest;
  state[1] = sum;
}

Val emit_finish_logsumexp(Emitter& e, const Val* state, Val) { return e.add(state[0], emit_log(e, state[1])); }

constexpr Reduction kReductions[] = {
    {.name = "sum",
     .doc = "The sum; 0 of nothing.",
     .example = "sum(x, over = N)",
     .result = NumClass::Real,
     .state_size = 1,
     .identity = {0, 0},
     .lift_value = [](double x, double* state) { state[0] += x; },
     .combine_states = [](double* into, const double* other) { into[0] += other[0]; },
     .finish_state = first_word,
     .emit_lift_value = [](Emitter& e, Val x, Val* state) { state[0] = e.add(state[0], x); },
     .emit_combine_states = [](Emitter& e, Val* into, const Val* other) { into[0] = e.add(into[0], other[0]); },
     .emit_finish_state = emit_first_word,
     .grad = "g"},
    {.name = "mean",
     .doc = "The sum divided by the number of elements; NaN of nothing.",
     .example = "mean(x, over = N)",
     .result = NumClass::Real,
     .state_size = 1,
     .identity = {0, 0},
     .lift_value = [](double x, double* state) { state[0] += x; },
     .combine_states = [](double* into, const double* other) { into[0] += other[0]; },
     .finish_state = [](const double* state, double count) { return state[0] / count; },
     .emit_lift_value = [](Emitter& e, Val x, Val* state) { state[0] = e.add(state[0], x); },
     .emit_combine_states = [](Emitter& e, Val* into, const Val* other) { into[0] = e.add(into[0], other[0]); },
     .emit_finish_state = [](Emitter& e, const Val* state, Val count) { return e.div(state[0], count); },
     .grad = "g/N"},
    {.name = "max",
     .doc = "The greatest element; NaN if any is, -inf of nothing.",
     .example = "max(x, over = N)",
     .result = NumClass::Real,
     .state_size = 1,
     .identity = {-kInfinity, 0},
     .lift_value = [](double x, double* state) { state[0] = greater(state[0], x); },
     .combine_states = [](double* into, const double* other) { into[0] = greater(into[0], other[0]); },
     .finish_state = first_word,
     .emit_lift_value = [](Emitter& e, Val x, Val* state) { state[0] = e.max(state[0], x); },
     .emit_combine_states = [](Emitter& e, Val* into, const Val* other) { into[0] = e.max(into[0], other[0]); },
     .emit_finish_state = emit_first_word,
     .grad = "select(index(N) == min(select(x == r, index(N), N), over = N), g, 0)"},
    {.name = "min",
     .doc = "The least element; NaN if any is, inf of nothing.",
     .example = "min(x, over = N)",
     .result = NumClass::Real,
     .state_size = 1,
     .identity = {kInfinity, 0},
     .lift_value = [](double x, double* state) { state[0] = lesser(state[0], x); },
     .combine_states = [](double* into, const double* other) { into[0] = lesser(into[0], other[0]); },
     .finish_state = first_word,
     .emit_lift_value = [](Emitter& e, Val x, Val* state) { state[0] = e.min(state[0], x); },
     .emit_combine_states = [](Emitter& e, Val* into, const Val* other) { into[0] = e.min(into[0], other[0]); },
     .emit_finish_state = emit_first_word,
     .grad = "select(index(N) == min(select(x == r, index(N), N), over = N), g, 0)"},
    {.name = "absmax",
     .doc = "The greatest magnitude; NaN if any element is, 0 of nothing.",
     .example = "absmax(x, over = N)",
     .result = NumClass::Real,
     .state_size = 1,
     .identity = {0, 0},
     .lift_value = [](double x, double* state) { state[0] = greater(state[0], std::fabs(x)); },
     .combine_states = [](double* into, const double* other) { into[0] = greater(into[0], other[0]); },
     .finish_state = first_word,
     .emit_lift_value = [](Emitter& e, Val x, Val* state) { state[0] = e.max(state[0], e.abs(x)); },
     .emit_combine_states = [](Emitter& e, Val* into, const Val* other) { into[0] = e.max(into[0], other[0]); },
     .emit_finish_state = emit_first_word,
     .grad = "select(index(N) == min(select(abs(x) == r, index(N), N), over = N), g*sign(x), 0)"},
    {.name = "prod",
     .doc = "The product; 1 of nothing.",
     .example = "prod(x, over = N)",
     .result = NumClass::Real,
     .state_size = 1,
     .identity = {1, 0},
     .lift_value = [](double x, double* state) { state[0] *= x; },
     .combine_states = [](double* into, const double* other) { into[0] *= other[0]; },
     .finish_state = first_word,
     .emit_lift_value = [](Emitter& e, Val x, Val* state) { state[0] = e.mul(state[0], x); },
     .emit_combine_states = [](Emitter& e, Val* into, const Val* other) { into[0] = e.mul(into[0], other[0]); },
     .emit_finish_state = emit_first_word,
     .grad = "g*select(x != 0, r/x, select(sum(select(x == 0, 1, 0), over = N) == 1, prod(select(x == 0, 1, x), over = "
             "N), 0))"},
    {.name = "logsumexp",
     .doc = "log of the sum of exp(x), without overflow; -inf where all elements are, and of nothing.",
     .example = "logsumexp(x, over = N)",
     .result = NumClass::Real,
     .state_size = 2,
     .identity = {-kInfinity, 0},
     .lift_value = lift_logsumexp,
     .combine_states = combine_logsumexp,
     .finish_state = finish_logsumexp,
     .emit_lift_value = emit_lift_logsumexp,
     .emit_combine_states = emit_combine_logsumexp,
     .emit_finish_state = emit_finish_logsumexp,
     .emit_lift_many = emit_lift_many_logsumexp,
     .neutral = -kInfinity,
     .grad = "g*exp(x - r)",
     .by_distance = true},
    {.name = "any",
     .doc = "Whether any element is true (not zero); false of nothing.",
     .example = "any(x > 0, over = N)",
     .result = NumClass::Bool,
     .state_size = 1,
     .identity = {0, 0},
     .lift_value = [](double x, double* state) { state[0] = x != 0 ? 1 : state[0]; },
     .combine_states = [](double* into, const double* other) { into[0] = other[0] != 0 ? 1 : into[0]; },
     .finish_state = first_word,
     .emit_lift_value = [](Emitter& e, Val x,
                           Val* state) { state[0] = e.select(is_not_zero(e, x), e.real(1), state[0]); },
     .emit_combine_states = [](Emitter& e, Val* into,
                               const Val* other) { into[0] = e.select(is_not_zero(e, other[0]), e.real(1), into[0]); },
     .emit_finish_state = [](Emitter& e, const Val* state, Val) { return is_not_zero(e, state[0]); }},
    {.name = "all",
     .doc = "Whether all elements are true (not zero); true of nothing.",
     .example = "all(x > 0, over = N)",
     .result = NumClass::Bool,
     .state_size = 1,
     .identity = {1, 0},
     .lift_value = [](double x, double* state) { state[0] = x != 0 ? state[0] : 0; },
     .combine_states = [](double* into, const double* other) { into[0] = other[0] != 0 ? into[0] : 0; },
     .finish_state = first_word,
     .emit_lift_value = [](Emitter& e, Val x,
                           Val* state) { state[0] = e.select(is_not_zero(e, x), state[0], e.real(0)); },
     .emit_combine_states = [](Emitter& e, Val* into,
                               const Val* other) { into[0] = e.select(is_not_zero(e, other[0]), into[0], e.real(0)); },
     .emit_finish_state = [](Emitter& e, const Val* state, Val) { return is_not_zero(e, state[0]); }},
};

}  // namespace

std::span<const Reduction> reductions() { return kReductions; }

void Reduction::lift(const double* x, double* state) const {
  if (custom != nullptr) return custom->combine(state, x);
  lift_value(*x, state);
}

void Reduction::combine(double* into, const double* other) const {
  if (custom != nullptr) return custom->combine(into, other);
  combine_states(into, other);
}

double Reduction::finish(const double* state, double count) const {
  return custom != nullptr ? state[word] : finish_state(state, count);
}

void Reduction::emit_lift(Emitter& e, const LiftedValue& x, Val* state) const {
  if (custom != nullptr) return custom->emit_combine(e, state, x.word);
  emit_lift_value(e, x.word[0], state);
}

void Reduction::emit_combine(Emitter& e, Val* into, const Val* other) const {
  if (custom != nullptr) return custom->emit_combine(e, into, other);
  emit_combine_states(e, into, other);
}

Val Reduction::emit_finish(Emitter& e, const Val* state, Val count) const {
  return custom != nullptr ? state[word] : emit_finish_state(e, state, count);
}

}  // namespace coda
