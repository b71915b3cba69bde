#include "tests/cli/statistic_oracle.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace coda::testing {
namespace {

using Real = long double;
using Values = std::vector<Real>;
constexpr Real kInfinity = std::numeric_limits<Real>::infinity(), kNaN = std::numeric_limits<Real>::quiet_NaN();
constexpr Real kUnit = 0x1p-24L, kLeast = 0x1p-126L;

/// Neumaier's sum: what each addition loses is added last.
template <typename Term>
Real sum_of(Numbers x, Term term) {
  Real sum = 0, lost = 0;
  for (const float one : x) {
    const Real next = term(Real{one}), total = sum + next;
    if (std::isfinite(total)) lost += std::fabs(sum) >= std::fabs(next) ? (sum - total) + next : (next - total) + sum;
    sum = total;
  }
  return sum + lost;
}
Real same(Real x) { return x; }
Real magnitude(Real x) { return std::fabs(x); }

/// What summing in any sensible order loses: 8 roundings and one for each 16 elements.
Real roundings(Numbers x) { return kUnit * (8 + static_cast<Real>(x.size()) / 16); }
bool has_nan(Numbers x) {
  return std::any_of(x.begin(), x.end(), [](float v) { return std::isnan(v); });
}
bool has_infinity(Numbers x) {
  return std::any_of(x.begin(), x.end(), [](float v) { return std::isinf(v); });
}
Real largest(Numbers x) {
  Real most = 0;
  for (const float v : x) most = std::max(most, std::fabs(Real{v}));
  return most;
}
Real number(Numbers x) { return static_cast<Real>(x.size()); }

void one(Values& want, Values& allowed, Real value, Real off) {
  want = {value};
  allowed = {off};
}

void sum(Numbers x, Values& want, Values& allowed) {
  one(want, allowed, sum_of(x, same), roundings(x) * sum_of(x, magnitude) + kLeast);
}
void mean(Numbers x, Values& want, Values& allowed) {
  const Real value = x.empty() ? kNaN : sum_of(x, same) / number(x);
  one(want, allowed, value, roundings(x) * sum_of(x, magnitude) / number(x) + 2 * kUnit * std::fabs(value) + kLeast);
}
Real extreme(Numbers x, Real start, bool (*better)(Real, Real)) {
  if (has_nan(x)) return kNaN;
  for (const float v : x) start = better(v, start) ? Real{v} : start;
  return start;
}
bool greater(Real a, Real b) { return a > b; }
bool lesser(Real a, Real b) { return a < b; }
Real greatest(Numbers x) { return extreme(x, -kInfinity, greater); }
Real least(Numbers x) { return extreme(x, kInfinity, lesser); }

void product(Numbers x, Values& want, Values& allowed) {
  // By magnitude's logarithm and sign; zeros and infinities are the only ones that a logarithm doesn't tell.
  int negative = 0, zeros = 0, infinities = 0;
  for (const float v : x) {
    negative += std::signbit(v);
    zeros += v == 0;
    infinities += std::isinf(v);
  }
  Real value = std::exp(sum_of(x, [](Real v) { return v == 0 || std::isinf(v) ? 0 : std::log(std::fabs(v)); }));
  if (infinities) value = kInfinity;
  if (zeros) value = 0;
  if (has_nan(x) || (zeros && infinities)) value = kNaN;
  value = negative % 2 ? -value : value;
  one(want, allowed, value, (number(x) + 2) * kUnit * std::fabs(value) + kLeast);
}

Real log_of_sum(Numbers x) {
  const Real top = greatest(x);
  if (!std::isfinite(top)) return top;
  return top + std::log(sum_of(x, [top](Real v) { return std::exp(v - top); }));
}
Real off_by_logsumexp(Numbers x, Real value) { return 2 * roundings(x) + 2 * kUnit * std::fabs(value); }

/// The first that is the extreme, or the first NaN; -1 of nothing.
Real place(Numbers x, Real extreme) {
  for (size_t i = 0; i < x.size(); ++i) {
    if (std::isnan(extreme) ? std::isnan(x[i]) : Real{x[i]} == extreme) return static_cast<Real>(i);
  }
  return -1;
}

Real spread(Numbers x) {
  const Real centre = sum_of(x, same) / number(x);
  return x.empty() ? kNaN : sum_of(x, [centre](Real v) { return (v - centre) * (v - centre); }) / number(x);
}

/// Of x over a positive root of what is summed.
void over_root(Numbers x, Values& want, Values& allowed, Real centre, Real square, Real extra) {
  for (const float v : x) {
    const Real value = (Real{v} - centre) / std::sqrt(square);
    want.push_back(value);
    allowed.push_back(std::fabs(value) * 2 * roundings(x) + extra + kLeast);
  }
}

std::vector<StatisticKind> plain_kinds() {
  return {
      {"sum", "", "sum(z, over = @)", DType::F32, false, false, false, sum},
      {"mean", "", "mean(z, over = @)", DType::F32, false, false, false, mean},
      {"max", "", "max(z, over = @)", DType::F32, false, false, false,
       [](Numbers x, Values& want, Values& allowed) { one(want, allowed, greatest(x), 0); }},
      {"min", "", "min(z, over = @)", DType::F32, false, false, false,
       [](Numbers x, Values& want, Values& allowed) { one(want, allowed, least(x), 0); }},
      {"absmax", "", "absmax(z, over = @)", DType::F32, false, false, false,
       [](Numbers x, Values& want, Values& allowed) { one(want, allowed, has_nan(x) ? kNaN : largest(x), 0); }},
      {"prod", "", "prod(z, over = @)", DType::F32, true, false, false, product},
      {"logsumexp", "", "logsumexp(z, over = @)", DType::F32, false, false, false,
       [](Numbers x, Values& want, Values& allowed) {
         one(want, allowed, log_of_sum(x), off_by_logsumexp(x, log_of_sum(x)));
       }},
      {"any", "", "any(z > 1, over = @)", DType::Bool, false, false, false,
       [](Numbers x, Values& want, Values& allowed) {
         one(want, allowed, std::any_of(x.begin(), x.end(), [](float v) { return v > 1; }), 0);
       }},
      {"any not zero", "", "any(z != 0, over = @)", DType::Bool, false, false, false,
       [](Numbers x, Values& want, Values& allowed) {
         one(want, allowed, std::any_of(x.begin(), x.end(), [](float v) { return v != 0; }), 0);
       }},
      {"all", "", "all(z > -2.5, over = @)", DType::Bool, false, false, false,
       [](Numbers x, Values& want, Values& allowed) {
         one(want, allowed, std::all_of(x.begin(), x.end(), [](float v) { return v > -2.5F; }), 0);
       }},
  };
}

/// The ones that programs define: of the prelude, and of one's own.
std::vector<StatisticKind> defined_kinds() {
  return {
      {"argmax", "", "argmax(z, over = @)", DType::I64, false, true, false,
       [](Numbers x, Values& want, Values& allowed) { one(want, allowed, place(x, greatest(x)), 0); }},
      {"argmin", "", "argmin(z, over = @)", DType::I64, false, true, false,
       [](Numbers x, Values& want, Values& allowed) { one(want, allowed, place(x, least(x)), 0); }},
      {"variance", "", "variance(z, over = @)", DType::F32, false, true, false,
       [](Numbers x, Values& want, Values& allowed) {
         const Real value = spread(x), off = 8 * kUnit * largest(x);
         one(want, allowed, value, 4 * roundings(x) * value + 2 * off * std::sqrt(value) + off * off + kLeast);
       }},
      {"width", "fn wider(a, b) {\n  let (x, y) = a\n  let (z, w) = b\n  (max(x, z), min(y, w))\n}\n", "high - low",
       DType::F32, false, false, false,
       [](Numbers x, Values& want, Values& allowed) {
         const Real value = greatest(x) - least(x);
         one(want, allowed, value, kUnit * std::fabs(value) + kLeast);
       },
       "let (high, low) = reduce((z, z), over = @, identity = (-1/0, 1/0), combine = wider)"},
      {"root of squares",
       "fn join(a, b) {\n  let (m, s) = a\n  let (n, t) = b\n  let g = max(m, n)\n"
       "  (g, select(m == g, s, s*div(m, g)**2) + select(n == g, t, t*div(n, g)**2))\n}\n",
       "g * sqrt(s)", DType::F32, false, false, false,
       [](Numbers x, Values& want, Values& allowed) {
         const Real square = sum_of(x, [](Real v) { return v * v; });
         const Real value = Real{1e25F} * std::sqrt(square);
         one(want, allowed, value, 4 * roundings(x) * value + Real{1e25F} * kLeast);
       },
       "let y = 1e25 * z\n"
       "  let (g, s) = reduce((abs(y), select(y != 0, 1, 0)), over = @, identity = (0, 0), combine = join)"},
  };
}

std::vector<StatisticKind> fed_back_kinds() {
  return {
      {"log_softmax", "", "log_softmax(z)", DType::F32, false, true, true,
       [](Numbers x, Values& want, Values& allowed) {
         const Real all = log_of_sum(x);
         for (const float v : x) {
           want.push_back(v - all);
           allowed.push_back(off_by_logsumexp(x, all) + 2 * kUnit * std::fabs(v - all));
         }
       }},
      {"softmax", "", "softmax(z)", DType::F32, false, true, true,
       [](Numbers x, Values& want, Values& allowed) {
         const Real all = log_of_sum(x);
         for (const float v : x) {
           const Real value = std::exp(v - all);
           want.push_back(value);
           allowed.push_back(value * (off_by_logsumexp(x, all) + 2 * kUnit * std::fabs(v - all) + 8 * kUnit) + kLeast);
         }
       }},
      {"standardise", "", "standardise(z)", DType::F32, false, true, true,
       [](Numbers x, Values& want, Values& allowed) {
         const Real centre = sum_of(x, same) / number(x), square = spread(x) + 1e-5L;
         over_root(x, want, allowed, centre, square, roundings(x) * largest(x) / std::sqrt(square));
       }},
      {"over its RMS", "", "z * rms_factor(z)", DType::F32, false, true, true,
       [](Numbers x, Values& want, Values& allowed) {
         const Real square = sum_of(x, [](Real v) { return v * v; }) / number(x) + 1e-6L;
         over_root(x, want, allowed, 0, square, 0);
         // A factor of 0 is no quotient: it leaves an infinity undefined.
         for (size_t i = 0; i < x.size(); ++i) want[i] = has_infinity(x) && std::isinf(x[i]) ? kNaN : want[i];
       }},
  };
}

}  // namespace

std::vector<float> make_elements(Elements kind, size_t count, bool tame, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> ordinary(-3, 3), about_one(0.875F, 1.125F);
  std::vector<float> x(count);
  for (float& v : x) v = tame ? (random() % 2 ? -1.0F : 1.0F) * about_one(random) : ordinary(random);
  constexpr float kHuge = std::numeric_limits<float>::infinity();
  const auto some = [&](float value) {
    for (size_t i = 0; i < count; ++i) {
      if (random() % count < 2) x[i] = value;
    }
    if (count > 0) x[random() % count] = value;
  };
  const auto each = [&](auto change) { std::for_each(x.begin(), x.end(), change); };
  switch (kind) {
    case Elements::Ordinary:
      break;
    case Elements::FarAbove:
      each([](float& v) { v += 1e4F; });
      break;
    case Elements::FarBelow:
      each([](float& v) { v -= 1e4F; });
      break;
    case Elements::Zeros:
      each([&](float& v) { v = random() % 2 ? 0.0F : -0.0F; });
      break;
    case Elements::WithNaN:
      some(std::numeric_limits<float>::quiet_NaN());
      break;
    case Elements::WithInfinity:
      some(kHuge);
      break;
    case Elements::WithMinusInfinity:
      some(-kHuge);
      break;
    case Elements::WithBothInfinities:
      some(kHuge), some(-kHuge);
      break;
    case Elements::OfMinusInfinity:
      each([](float& v) { v = -kHuge; });
      break;
    case Elements::Tiny:
      each([](float& v) { v *= 0x1p-130F; });
      break;
    case Elements::Equals:
      each([](float& v) { v = std::round(v); });
      break;
  }
  return x;
}

std::vector<StatisticKind> statistic_kinds() {
  std::vector<StatisticKind> kinds = plain_kinds();
  for (const auto& more : {defined_kinds(), fed_back_kinds()}) kinds.insert(kinds.end(), more.begin(), more.end());
  return kinds;
}

}  // namespace coda::testing
