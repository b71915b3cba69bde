#include "tools/codac/compare.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace coda {
namespace {

// The slope by which an epilogue may enlarge an error of the accumulator, relative to the row's scale.
constexpr double kAmplification = 8;
// Functions that are approximate on a GPU (tanh) are right to about 2^-11; allowed where 16 bits or fewer are stored.
constexpr double kApproximate = 0x1p-10;
// RMS of a rounding error in units of roundoff, at worst.
constexpr double kRoundingRms = 0.6;
// Roundings of a kept tensor, summed over a product's depth, are normal; no element is further out than this many of
// their deviations. What follows the product enlarges them by the slope.
constexpr double kDeviations = 7, kKeptSlope = 2;
// Where their effect was computed, one of them may still have gone to the other neighbour: two unit roundoffs.
constexpr double kOtherNeighbour = 2;

// From here on the reference, which computes in f64, does not know whole numbers exactly.
constexpr double kExactWhole = 0x1p53;

bool same_special(double got, double want) {
  return (std::isnan(want) && std::isnan(got)) || (std::isinf(want) && got == want);
}

/// A finite reference that the stored type can't hold: an infinity of its sign, or a NaN.
bool overflowed(double got, double want) {
  return std::isfinite(want) && (std::isnan(got) || got == std::copysign(INFINITY, want));
}

double allowed_whole(double want) { return std::abs(want) >= kExactWhole ? std::abs(want) * 0x1p-52 : 0; }

/// RMS of the finite references, by row and in all.
struct Scales {
  std::map<int64_t, double> rows;
  double all = 0;

  explicit Scales(const std::vector<ComparedElement>& elements) {
    std::map<int64_t, std::pair<double, int64_t>> sums;
    double total = 0;
    int64_t count = 0;
    for (const auto& e : elements) {
      if (!std::isfinite(e.want)) continue;
      auto& [sum, n] = sums[e.row];
      sum += e.want * e.want;
      ++n;
      total += e.want * e.want;
      ++count;
    }
    all = count ? std::sqrt(total / static_cast<double>(count)) : 0;
    for (auto& [row, s] : sums) {
      // A single element is no scale for itself, and a row of near-zeros takes a little of its neighbours' scale.
      double own = std::sqrt(s.first / static_cast<double>(s.second));
      rows[row] = s.second < 8 ? all : std::max(own, all * 1e-3);
    }
  }
};

}  // namespace

ErrorBound error_bound(DType stored, int64_t depth, double slack, std::optional<DType> rigid, KeptRoundings kept) {
  const DTypeInfo& type = info(stored);
  ErrorBound bound;
  double accumulation = slack * kAmplification * 0x1p-22 * (8 + static_cast<double>(depth) / 16);
  const double furthest = kept.computed ? kOtherNeighbour : kDeviations * kRoundingRms;
  bound.scaled = accumulation + slack * kKeptSlope * furthest * kept.sum;
  // Powers enlarge the error of a large element by more than their slope at an ordinary one: n|x|^(n-1) <= n|x|^n + n.
  bound.relative = slack * kKeptSlope * furthest * kept.sum;
  bound.rms = accumulation + slack * kKeptSlope * kRoundingRms * kept.sum;
  if (type.num_class != NumClass::Real) return bound;
  double unit = std::ldexp(1.0, -type.mantissa_bits - 1);
  if (type.bits <= 16) {
    bound.relative += 1.25 * unit;
    bound.scaled += kApproximate;
    bound.rms += kApproximate;
  } else {
    bound.relative += unit;
  }
  bound.rms += kRoundingRms * unit;
  // A square doubles the relative error of what it is made of.
  if (rigid) bound.relative += 2 * std::ldexp(1.0, -info(*rigid).mantissa_bits);
  bound.absolute = std::ldexp(0.5, 2 - (1 << (type.exponent_bits - 1)) - type.mantissa_bits);
  return bound;
}

Comparison compare(const std::vector<ComparedElement>& elements, DType stored, const ErrorBound& bound,
                   bool zero_expected) {
  Comparison result;
  result.compared = static_cast<int64_t>(elements.size());
  const bool exact = info(stored).num_class != NumClass::Real;
  const Scales scales(elements);
  double error_sum = 0, want_sum = 0;
  bool special_wrong = false;
  for (const auto& e : elements) {
    double stored_want = round_to(e.want, stored);
    if (!std::isfinite(stored_want)) {
      ++result.non_finite;
      result.nan += std::isnan(e.want);
      bool right = same_special(e.got, stored_want) || overflowed(e.got, e.want);
      if (!right) {
        if (!special_wrong) result.at = e;
        special_wrong = true;
        ++result.beyond;
      }
      continue;
    }
    double scale = scales.rows.at(e.row);
    // A whole number that its type can't hold is stored as the nearest one.
    double difference = std::abs(e.got - (exact && std::abs(e.want) < kExactWhole ? stored_want : e.want));
    result.imprecise += exact && std::abs(e.want) >= kExactWhole;
    double allowed = exact ? allowed_whole(e.want)
                           : e.kept + bound.relative * std::abs(e.want) + bound.scaled * scale + bound.absolute;
    bool bad = !(difference <= allowed);
    double ratio = difference == 0 ? 0 : allowed > 0 ? difference / allowed : INFINITY;
    if (std::isnan(ratio)) ratio = INFINITY;
    if (ratio > result.worst && !special_wrong) {
      result.worst = ratio;
      result.at = e;
    }
    result.beyond += bad;
    if (scale > 0)
      result.max_error = std::max(result.max_error, std::isnan(difference) ? INFINITY : difference / scale);
    error_sum += difference * difference;
    want_sum += e.want * e.want;
  }
  result.rms_error = error_sum == 0 ? 0 : std::isnan(error_sum) ? INFINITY : std::sqrt(error_sum / want_sum);

  const int64_t finite = result.compared - result.non_finite;
  if (special_wrong) {
    result.reason = "a non-finite value is missing or wrong";
  } else if (result.beyond > 0) {
    result.reason = std::to_string(result.beyond) + " of " + std::to_string(result.compared) + " elements are off";
  } else if (!exact && result.rms_error > bound.rms + (scales.all > 0 ? bound.absolute / scales.all : 0)) {
    result.reason = "the RMS error is too large";
  } else if (result.nan * 2 > result.compared) {
    result.reason = "most of the reference is NaN, which proves nothing: choose other inputs";
  } else if (result.compared > 0 && finite == 0) {
    result.reason = "nothing of the reference is finite, which proves nothing: choose other inputs";
  } else if (result.compared > 0 && want_sum == 0 && !zero_expected && !exact) {
    result.reason = "the reference is zero everywhere, which proves nothing: choose other inputs";
  } else {
    result.passed = true;
  }
  return result;
}

}  // namespace coda
