#include "compiler/epilogue/dim_facts.h"

#include <algorithm>

namespace coda {

DimFacts::DimFacts(const std::vector<DimFact>& facts, const Bindings& bound) {
  for (const auto& fact : facts) {
    const Dim left = fact.left.substitute(bound), right = fact.right.substitute(bound);
    const bool equal = fact.relation == "=" || fact.relation == "==";
    if (fact.modulus) {
      const auto modulus = fact.modulus->substitute(bound).constant();
      if (equal && modulus && *modulus > 0 && right.is_zero()) multiples_.emplace_back(left, *modulus);
      continue;
    }
    const bool strict = fact.relation == "<" || fact.relation == ">";
    const bool upward = equal || fact.relation == ">=" || fact.relation == ">";
    const bool downward = equal || fact.relation == "<=" || fact.relation == "<";
    if (upward) not_negative_.push_back(left - right - Dim(strict ? 1 : 0));
    if (downward) not_negative_.push_back(right - left - Dim(strict ? 1 : 0));
  }
}

bool DimFacts::not_negative(const Dim& value, int depth) const {
  const auto negative = value.negative_monomial();
  if (!negative) return true;
  if (depth == 0) return false;
  // Some fact that is taken off must be negative there, and the order in which they are doesn't matter.
  return std::any_of(not_negative_.begin(), not_negative_.end(), [&](const Dim& known) {
    return known.coefficient(*negative) < 0 && not_negative(value - known, depth - 1);
  });
}

/// The greatest divisor known of a product of symbols. The facts' own divisors are exact integers, so they multiply up
/// where the symbols are different; taking one fact for the whole monomial is enough in practice.
int64_t DimFacts::known_factor(const Dim& monomial) const {
  int64_t factor = 1;
  for (const auto& [value, divisor] : multiples_) {
    const auto parts = value.monomials();
    if (parts.size() != 1 || parts[0].second != 1 || value.denominator() != 1) continue;
    const auto rest = monomial.divided_by(value);
    const bool contains = rest && rest->is_integral() && rest->text().find('/') == std::string::npos;
    if (contains) factor = std::max(factor, divisor);
  }
  return factor;
}

bool DimFacts::divisible(const Dim& value, int64_t divisor) const {
  if (divisor == 1) return true;  // every extent is an integer: launches check quotients
  const bool stated = std::any_of(multiples_.begin(), multiples_.end(), [&](const auto& known) {
    return known.first == value && known.second % divisor == 0;
  });
  if (stated) return true;
  const auto monomials = value.monomials();
  return std::all_of(monomials.begin(), monomials.end(), [&](const auto& term) {
    int64_t known = 0, needed = 0;
    if (__builtin_mul_overflow(term.second, known_factor(term.first), &known)) return false;
    if (__builtin_mul_overflow(divisor, value.denominator(), &needed)) return false;
    return known % needed == 0;
  });
}

std::optional<Dim> DimFacts::exact_quotient(const Dim& value, const Dim& divisor) const {
  const auto quotient = value.divided_by(divisor);
  if (!quotient) return std::nullopt;
  if (const auto constant = divisor.constant()) {
    return *constant > 0 && divisible(value, *constant) ? quotient : std::nullopt;
  }
  // A symbolic divisor must cancel: no new quotient may appear.
  const bool cancels = quotient->is_integral() && *quotient * divisor == value &&
                       (quotient->text().find('/') == std::string::npos || value.text().find('/') != std::string::npos);
  return cancels ? quotient : std::nullopt;
}

}  // namespace coda
