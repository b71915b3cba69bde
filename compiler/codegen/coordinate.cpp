#include "compiler/codegen/coordinate.h"

#include <algorithm>
#include <numeric>

namespace coda {

namespace {

Fraction plus(const Fraction& a, const Fraction& b) {
  return Fraction::of(a.numerator * b.denominator + b.numerator * a.denominator, a.denominator * b.denominator);
}

/// `a - b` if that is an integer whatever the symbols are. Asked for each element of a tile, so that the common answers
/// need no arithmetic on polynomials.
std::optional<int64_t> constant_difference(const Dim& a, const Dim& b) {
  const auto x = a.constant(), y = b.constant();
  int64_t difference = 0;
  if (x && y) return __builtin_sub_overflow(*x, *y, &difference) ? std::nullopt : std::optional(difference);
  if (x || y) return std::nullopt;
  return a == b ? std::optional<int64_t>(0) : (a - b).constant();
}

int64_t floor_div(int64_t a, int64_t b) { return a / b - ((a % b != 0) && ((a < 0) != (b < 0))); }

}  // namespace

Fraction Fraction::of(int64_t numerator, int64_t denominator) {
  if (denominator < 0) numerator = -numerator, denominator = -denominator;
  const int64_t common = std::gcd(numerator, denominator);
  return common > 1 ? Fraction{numerator / common, denominator / common} : Fraction{numerator, denominator};
}

Coord Coord::variable(VarId variable, int64_t factor) {
  Coord coordinate;
  if (factor != 0) coordinate.terms_.push_back({variable, Fraction{factor, 1}});
  return coordinate;
}

Coord Coord::of(const Dim& value) {
  Coord coordinate;
  coordinate.constant_ = value.constant_term();
  coordinate.symbolic_ = coordinate.constant_ == 0 ? value : value - Dim(coordinate.constant_);
  return coordinate;
}

Coord Coord::operator+(const Coord& other) const {
  Coord sum;
  sum.constant_ = constant_ + other.constant_;
  if (other.symbolic_.is_zero()) {
    sum.symbolic_ = symbolic_;
  } else if (symbolic_.is_zero()) {
    sum.symbolic_ = other.symbolic_;
  } else {
    const Dim total = symbolic_ + other.symbolic_;
    const int64_t carried = total.constant_term();  // denominators may cancel: (F+1)/2 - (F-1)/2 = 1
    sum.symbolic_ = carried == 0 ? total : total - Dim(carried);
    sum.constant_ += carried;
  }
  auto a = terms_.begin(), b = other.terms_.begin();
  while (a != terms_.end() || b != other.terms_.end()) {
    if (b == other.terms_.end() || (a != terms_.end() && a->variable < b->variable)) {
      sum.terms_.push_back(*a++);
    } else if (a == terms_.end() || b->variable < a->variable) {
      sum.terms_.push_back(*b++);
    } else {
      const Fraction factor = plus(a->factor, b->factor);
      if (factor.numerator != 0) sum.terms_.push_back({a->variable, factor});
      ++a, ++b;
    }
  }
  return sum;
}

Coord Coord::operator-(const Coord& other) const { return *this + other * -1; }

Coord Coord::operator*(int64_t factor) const {
  if (factor == 1) return *this;
  Coord product;
  if (factor == 0) return product;
  product.constant_ = constant_ * factor;
  if (!symbolic_.is_zero()) {
    const Dim scaled = symbolic_ * Dim(factor);
    const int64_t carried = scaled.constant_term();  // 2 * (F+1)/2
    product.symbolic_ = carried == 0 ? scaled : scaled - Dim(carried);
    product.constant_ += carried;
  }
  for (const auto& [variable, f] : terms_) {
    product.terms_.push_back({variable, Fraction::of(f.numerator * factor, f.denominator)});
  }
  return product;
}

std::optional<Coord> Coord::times(const Dim& factor) const {
  if (const auto constant = factor.constant()) return *this * *constant;
  if (!terms_.empty()) return std::nullopt;
  return Coord::of((symbolic_ + Dim(constant_)) * factor);
}

std::optional<Dim> Coord::as_dim() const {
  if (!terms_.empty()) return std::nullopt;
  return symbolic_ + Dim(constant_);
}

std::optional<int64_t> Coord::as_constant() const {
  if (!terms_.empty() || !symbolic_.is_zero()) return std::nullopt;
  return constant_;
}

Fraction Coord::factor_of(VarId variable) const {
  for (const Term& term : terms_) {
    if (term.variable == variable) return term.factor;
  }
  return {};
}

std::pair<std::vector<Coord>, Coord> Coord::split() const {
  std::vector<Coord> variables;
  for (const Term& term : terms_) variables.emplace_back().terms_.push_back(term);
  Coord rest = *this;
  rest.terms_.clear();
  return {std::move(variables), std::move(rest)};
}

size_t Coord::hash() const {
  size_t h = static_cast<size_t>(constant_) * 0x9E3779B97F4A7C15u;
  const auto mix = [&h](size_t value) { h = (h ^ value) * 0x100000001B3u + (h >> 29); };
  for (const auto& [variable, factor] : terms_) {
    mix(static_cast<size_t>(variable));
    mix(static_cast<size_t>(factor.numerator));
    mix(static_cast<size_t>(factor.denominator));
  }
  if (!symbolic_.is_zero()) mix(std::hash<std::string>()(symbolic_.text()));
  return h;
}

size_t ElementKeyHash::operator()(const ElementKey& key) const {
  size_t h = static_cast<size_t>(key.param) * 0x9E3779B97F4A7C15u;
  for (const Coord& coordinate : key.index) h = (h ^ coordinate.hash()) * 0x100000001B3u + (h >> 29);
  return h;
}

VarId CoordSpace::add(VarFacts facts) {
  variables_.push_back(std::move(facts));
  return static_cast<VarId>(variables_.size()) - 1;
}

void CoordSpace::assume(const Coord& coordinate, const Dim& extent) { assumptions_.push_back({coordinate, extent}); }

CoordSpace::Range CoordSpace::range(const Coord& coordinate) const {
  if (!coordinate.symbolic().is_zero()) return {};
  Range range{coordinate.constant(), coordinate.constant()};
  for (const auto& [variable, factor] : coordinate.terms()) {
    const VarFacts& known = facts(variable);
    const std::optional<int64_t> count = known.count   ? known.count
                                         : known.bound ? known.bound->constant()
                                                       : std::nullopt;
    // The largest value is a multiple too, so the product with the fraction is exact.
    std::optional<int64_t> last;
    if (count) last = *count <= 0 ? 0 : (*count - 1) / known.multiple_of * known.multiple_of;
    const bool starts_at_zero = known.count || known.bound;
    const bool positive = factor.numerator > 0;
    auto& far = positive ? range.high : range.low;
    auto& near = positive ? range.low : range.high;
    if (far && last) {
      *far += *last * factor.numerator / factor.denominator;
    } else {
      far.reset();
    }
    if (!starts_at_zero) near.reset();
  }
  return range;
}

Answer CoordSpace::inside(const Coord& coordinate, const Dim& low, const Dim& length) const {
  const Coord shifted = low.is_zero() ? coordinate : coordinate - Coord::of(low);
  const std::optional<int64_t> constant_length = length.constant();
  if (constant_length && *constant_length <= 0) return Answer::No;

  const Range known = range(shifted);
  bool not_below = known.low && *known.low >= 0;
  bool not_above = known.high && constant_length && *known.high < *constant_length;
  if (known.high && *known.high < 0) return Answer::No;
  if (known.low && constant_length && *known.low >= *constant_length) return Answer::No;

  // Largest value with symbolic bounds: length - 1 - maximum must be a constant that is not negative.
  if (!not_above) {
    Dim symbolic = shifted.symbolic();
    int64_t constant = shifted.constant();
    bool known_maximum = true;
    for (const auto& [variable, factor] : shifted.terms()) {
      const VarFacts& f = facts(variable);
      if (factor.numerator < 0 ? !f.count && !f.bound : factor.denominator != 1 || (!f.count && !f.bound)) {
        known_maximum = false;
        break;
      }
      if (factor.numerator < 0) continue;
      if (f.bound) {
        symbolic = symbolic + (*f.bound - Dim(1)) * Dim(factor.numerator);
      } else {
        int64_t most = 0;
        known_maximum = known_maximum && !__builtin_mul_overflow(*f.count - 1, factor.numerator, &most) &&
                        !__builtin_add_overflow(constant, most, &constant);
      }
    }
    const auto slack = known_maximum ? constant_difference(length, symbolic) : std::nullopt;
    not_above = slack && *slack - constant >= 1;
  }

  // Assumptions on the same variables: assumed = shifted + difference, 0 <= assumed < extent.
  for (const Assumption& assumption : assumptions_) {
    if (not_below && not_above) break;
    if (assumption.coordinate.terms() != shifted.terms()) continue;
    const Coord& assumed = assumption.coordinate;
    const auto symbolic_difference = constant_difference(assumed.symbolic(), shifted.symbolic());
    if (!symbolic_difference) {
      // Only together with the extents may it be a constant.
      const Dim difference = assumed.symbolic() - shifted.symbolic() + Dim(assumed.constant() - shifted.constant());
      const auto above = constant_difference(length, assumption.extent - difference);
      not_above = not_above || (above && *above >= 0);
      const auto beyond = constant_difference(Dim(0) - difference, length);
      const auto before = constant_difference(difference, assumption.extent);
      if ((beyond && *beyond >= 0) || (before && *before >= 0)) return Answer::No;
      continue;
    }
    const int64_t difference = *symbolic_difference + assumed.constant() - shifted.constant();
    const auto longer = constant_difference(length, assumption.extent);
    not_below = not_below || difference <= 0;
    not_above = not_above || (longer && *longer + difference >= 0);
    // Wholly above: shifted >= -difference >= length. Wholly below: shifted < extent - difference <= 0.
    if (constant_length && *constant_length <= -difference) return Answer::No;
    if (const auto extent = assumption.extent.constant(); extent && *extent <= difference) return Answer::No;
  }
  return not_below && not_above ? Answer::Yes : Answer::Unknown;
}

std::optional<std::pair<Coord, Coord>> CoordSpace::divide(const Coord& coordinate, int64_t divisor) const {
  if (divisor == 1) return std::pair{coordinate, Coord(0)};
  Coord quotient, rest;
  if (!coordinate.symbolic().is_zero()) {
    const auto part = coordinate.symbolic().divided_by(Dim(divisor));
    if (!part || !part->is_integral()) return std::nullopt;
    quotient.symbolic_ = *part;
  }
  for (const auto& [variable, factor] : coordinate.terms()) {
    // factor * variable is a multiple of step.
    const Fraction step = Fraction::of(factor.numerator * facts(variable).multiple_of, factor.denominator);
    if (step.denominator == 1 && step.numerator % divisor == 0) {
      quotient.terms_.push_back({variable, Fraction::of(factor.numerator, factor.denominator * divisor)});
    } else {
      rest.terms_.push_back({variable, factor});
    }
  }
  quotient.constant_ = floor_div(coordinate.constant(), divisor);
  rest.constant_ = coordinate.constant() - quotient.constant_ * divisor;
  Range known = range(rest);
  if (known.low && known.high && floor_div(*known.low, divisor) == floor_div(*known.high, divisor)) {
    const int64_t carry = floor_div(*known.low, divisor);
    quotient.constant_ += carry;
    rest.constant_ -= carry * divisor;
    return std::pair{quotient, rest};
  }
  return std::nullopt;
}

std::string CoordSpace::to_text(const Coord& coordinate) const {
  std::string text = coordinate.symbolic().is_zero() ? "" : coordinate.symbolic().text();
  const auto append = [&text](const std::string& part, bool negative) {
    if (!text.empty()) {
      text += negative ? " - " : " + ";
    } else if (negative) {
      text += "-";
    }
    text += part;
  };
  for (const auto& [variable, factor] : coordinate.terms()) {
    const int64_t magnitude = std::abs(factor.numerator);
    std::string part = magnitude == 1 ? "" : std::to_string(magnitude) + "*";
    part += facts(variable).name;
    if (factor.denominator != 1) part += "/" + std::to_string(factor.denominator);
    append(part, factor.numerator < 0);
  }
  if (coordinate.constant() != 0 || text.empty()) {
    append(std::to_string(std::abs(coordinate.constant())), coordinate.constant() < 0);
  }
  return text;
}

void Env::set(const std::string& dim, Coord coordinate) {
  for (auto& [name, value] : coordinates_) {
    if (name == dim) {
      value = std::move(coordinate);
      return;
    }
  }
  coordinates_.emplace_back(dim, std::move(coordinate));
}

void Env::erase(const std::string& dim) {
  std::erase_if(coordinates_, [&](const auto& entry) { return entry.first == dim; });
}

const Coord* Env::find(const std::string& dim) const {
  for (const auto& [name, coordinate] : coordinates_) {
    if (name == dim) return &coordinate;
  }
  return nullptr;
}

}  // namespace coda
