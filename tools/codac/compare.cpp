#include "tools/codac/compare.h"

#include <algorithm>
#include <cmath>

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

/// How far an element is off, and what it may be.
struct Distance {
  bool is_special = false;  ///< the reference is not finite as stored: an element is it or is wrong
  bool is_right = false;
  double difference = 0, allowed = 0;
};

Distance distance(const ComparedElement& e, DType stored, const ErrorBound& bound, double scale) {
  const bool exact = info(stored).num_class != NumClass::Real;
  const double stored_want = round_to(e.want, stored);
  Distance d;
  d.is_special = !std::isfinite(stored_want);
  if (d.is_special) {
    d.is_right = same_special(e.got, stored_want) || overflowed(e.got, e.want);
    return d;
  }
  // A whole number that its type can't hold is stored as the nearest one.
  d.difference = std::abs(e.got - (exact && std::abs(e.want) < kExactWhole ? stored_want : e.want));
  d.allowed = exact ? allowed_whole(e.want)
                    : e.kept + bound.relative * std::abs(e.want) + bound.scaled * scale + bound.absolute;
  d.is_right = d.difference <= d.allowed;
  return d;
}

}  // namespace

RowScales::RowScales(const std::vector<ComparedElement>& elements) {
  std::unordered_map<int64_t, std::pair<double, int64_t>> sums;
  double total = 0;
  int64_t count = 0;
  for (const auto& e : elements) {
    auto& [sum, n] = sums[e.row];
    if (!std::isfinite(e.want)) continue;
    sum += e.want * e.want;
    ++n;
    total += e.want * e.want;
    ++count;
  }
  all_ = count ? std::sqrt(total / static_cast<double>(count)) : 0;
  for (auto& [row, s] : sums) {
    // A single element is no scale for itself, and a row of near-zeros takes a little of its neighbours' scale.
    rows_[row] = s.second < 8 ? all_ : std::max(std::sqrt(s.first / static_cast<double>(s.second)), all_ * 1e-3);
  }
}

bool is_within(const ComparedElement& element, DType stored, const ErrorBound& bound, double scale) {
  return distance(element, stored, bound, scale).is_right;
}

ErrorBound error_bound(DType stored, const ValueOrigin& origin, double slack) {
  const DTypeInfo& type = info(stored);
  const KeptRoundings& kept = origin.kept;
  ErrorBound bound;
  double accumulation = slack * kAmplification * 0x1p-22 * (8 + static_cast<double>(origin.depth) / 16);
  const double furthest = kept.computed ? kOtherNeighbour : kDeviations * kRoundingRms;
  bound.scaled = accumulation + slack * kKeptSlope * furthest * kept.sum;
  // Powers enlarge the error of a large element by more than their slope at an ordinary one: n|x|^(n-1) <= n|x|^n + n.
  bound.relative = slack * kKeptSlope * furthest * kept.sum;
  bound.rms = accumulation + slack * kKeptSlope * kRoundingRms * kept.sum;
  if (type.num_class != NumClass::Real) return bound;
  double unit = std::ldexp(1.0, -type.mantissa_bits - 1);
  if (type.bits <= 16) {
    bound.scaled += kApproximate;
    bound.rms += kApproximate;
  }
  if (!origin.is_stored) bound.relative += (type.bits <= 16 ? 1.25 : 1) * unit;
  bound.rms += kRoundingRms * unit;
  // A square doubles the relative error of what it is made of.
  if (origin.rigid) bound.relative += 2 * std::ldexp(1.0, -info(*origin.rigid).mantissa_bits);
  bound.absolute = std::ldexp(0.5, 2 - (1 << (type.exponent_bits - 1)) - type.mantissa_bits);
  return bound;
}

ErrorBound computed_bound(DType stored, const ValueOrigin& origin, double slack) {
  ErrorBound bound = error_bound(DType::F32, origin, slack);
  const DTypeInfo& type = info(stored);
  if (type.num_class == NumClass::Real && type.bits <= 16) bound.scaled += kApproximate;
  return bound;
}

Comparison compare(const std::vector<ComparedElement>& elements, DType stored, const ErrorBound& bound,
                   bool of_nothing) {
  Comparison result;
  result.compared = static_cast<int64_t>(elements.size());
  const bool exact = info(stored).num_class != NumClass::Real;
  const RowScales scales(elements);
  double error_sum = 0, want_sum = 0, rounding_sum = 0;
  bool special_wrong = false;
  for (size_t position = 0; position < elements.size(); ++position) {
    const ComparedElement& e = elements[position];
    const double scale = scales.of(e.row);
    const auto [is_special, is_right, difference, allowed] = distance(e, stored, bound, scale);
    if (!is_right) result.off.push_back(position);
    if (is_special) {
      ++result.non_finite;
      result.nan += std::isnan(e.want);
      if (!is_right && !special_wrong) result.at = e;
      special_wrong = special_wrong || !is_right;
      continue;
    }
    result.imprecise += exact && std::abs(e.want) >= kExactWhole;
    double ratio = difference == 0 ? 0 : allowed > 0 ? difference / allowed : INFINITY;
    if (std::isnan(ratio)) ratio = INFINITY;
    if (ratio > result.worst && !special_wrong) {
      result.worst = ratio;
      result.at = e;
    }
    if (scale > 0)
      result.max_error = std::max(result.max_error, std::isnan(difference) ? INFINITY : difference / scale);
    error_sum += difference * difference;
    want_sum += e.want * e.want;
    const double rounding = round_to(e.want, stored) - e.want;
    rounding_sum += rounding * rounding;
  }
  result.beyond = static_cast<int64_t>(result.off.size());
  result.rms_error = error_sum == 0 ? 0 : std::isnan(error_sum) ? INFINITY : std::sqrt(error_sum / want_sum);

  // Elements that are all alike all round alike: then the store alone has more than a rounding's usual RMS.
  const double usual = kRoundingRms * std::ldexp(1.0, -info(stored).mantissa_bits - 1);
  const double rounding = want_sum > 0 ? std::sqrt(rounding_sum / want_sum) : 0;
  const double alike = exact ? 0 : std::max(0.0, rounding - usual);
  const int64_t finite = result.compared - result.non_finite;
  if (special_wrong) {
    result.reason = "a non-finite value is missing or wrong";
  } else if (result.beyond > 0) {
    result.reason = std::to_string(result.beyond) + " of " + std::to_string(result.compared) + " elements are off";
  } else if (!exact && result.rms_error > bound.rms + alike + (scales.all() > 0 ? bound.absolute / scales.all() : 0)) {
    result.reason = "the RMS error is too large";
  } else if (!of_nothing && result.nan * 2 > result.compared) {
    result.reason = "most of the reference is NaN, which proves nothing: choose other inputs";
  } else if (!of_nothing && result.compared > 0 && finite == 0) {
    result.reason = "nothing of the reference is finite, which proves nothing: choose other inputs";
  } else if (result.compared > 0 && want_sum == 0 && !of_nothing && !exact) {
    result.reason = "the reference is zero everywhere, which proves nothing: choose other inputs";
  } else {
    result.passed = true;
  }
  return result;
}

}  // namespace coda
