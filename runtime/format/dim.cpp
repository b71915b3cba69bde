#include "runtime/format/dim.h"

#include <algorithm>
#include <numeric>

namespace coda {

namespace {

// The least integer counts as overflow, too: it has no negative.
bool mul_checked(int64_t a, int64_t b, int64_t& out) { return !__builtin_mul_overflow(a, b, &out) && out != INT64_MIN; }
bool add_checked(int64_t a, int64_t b, int64_t& out) { return !__builtin_add_overflow(a, b, &out) && out != INT64_MIN; }

/// What arithmetic on coefficients beyond 64 bits gives: a symbol that no program can spell and nothing binds, so that
/// the dimension has no value instead of a wrong one.
constexpr const char* kTooLarge = "(too large)";

}  // namespace

Dim::Dim(int64_t value) {
  if (value == INT64_MIN) {
    *this = symbol(kTooLarge);
    return;
  }
  if (value != 0) terms_[{}] = value;
  normalise();
}

Dim Dim::symbol(const std::string& name) { return from_atom({name, nullptr}); }

Dim Dim::from_atom(Atom atom) {
  Dim dim;
  dim.terms_[{std::move(atom)}] = 1;
  dim.normalise();
  return dim;
}

Dim Dim::operator+(const Dim& other) const {
  Dim sum;
  bool fits =
      mul_checked(denominator_, other.denominator_ / std::gcd(denominator_, other.denominator_), sum.denominator_);
  auto add_terms = [&](const Dim& part) {
    for (const auto& [monomial, c] : part.terms_) {
      int64_t scaled = 0, &total = sum.terms_[monomial];
      fits = fits && mul_checked(c, sum.denominator_ / part.denominator_, scaled) && add_checked(total, scaled, total);
    }
  };
  add_terms(*this);
  add_terms(other);
  if (!fits) return symbol(kTooLarge);
  sum.normalise();
  return sum;
}

Dim Dim::operator-(const Dim& other) const { return *this + other * Dim(-1); }

Dim Dim::operator*(const Dim& other) const {
  Dim product;
  bool fits = mul_checked(denominator_, other.denominator_, product.denominator_);
  for (const auto& [ma, ca] : terms_) {
    for (const auto& [mb, cb] : other.terms_) {
      Monomial monomial = ma;
      monomial.insert(monomial.end(), mb.begin(), mb.end());
      std::sort(monomial.begin(), monomial.end());
      int64_t c = 0, &total = product.terms_[monomial];
      fits = fits && mul_checked(ca, cb, c) && add_checked(total, c, total);
    }
  }
  if (!fits) return symbol(kTooLarge);
  product.normalise();
  return product;
}

int64_t Dim::constant_term() const {
  const auto it = denominator_ == 1 ? terms_.find({}) : terms_.end();
  return it == terms_.end() ? 0 : it->second;
}

std::vector<std::pair<Dim, int64_t>> Dim::monomials() const {
  std::vector<std::pair<Dim, int64_t>> list;
  for (const auto& [monomial, coefficient] : terms_) {
    Dim one;
    one.terms_[monomial] = 1;
    one.normalise();
    list.emplace_back(std::move(one), coefficient);
  }
  return list;
}

std::optional<Dim> Dim::divided_by(const Dim& divisor) const {
  if (divisor.is_zero()) return std::nullopt;
  if (is_zero()) return Dim();
  if (divisor.terms_.size() == 1) {  // a monomial: divide term by term where every term has its atoms
    const auto& [monomial, coefficient] = *divisor.terms_.begin();
    Dim quotient;
    bool divides = true, fits = true;
    for (const auto& [m, c] : terms_) {
      Monomial rest;
      divides = divides && std::includes(m.begin(), m.end(), monomial.begin(), monomial.end());
      std::set_difference(m.begin(), m.end(), monomial.begin(), monomial.end(), std::back_inserter(rest));
      fits =
          fits && mul_checked(c, coefficient < 0 ? -divisor.denominator_ : divisor.denominator_, quotient.terms_[rest]);
    }
    if (divides) {
      fits = fits && mul_checked(denominator_, std::abs(coefficient), quotient.denominator_);
      if (!fits) return symbol(kTooLarge);
      quotient.normalise();
      return quotient;
    }
  }
  if (*this == divisor) return Dim(1);
  Atom atom;
  auto bracket = [](const Dim& d) {
    const bool simple = d.terms_.size() == 1 && d.denominator_ == 1;
    return simple ? d.text() : "(" + d.text() + ")";
  };
  atom.name = "(" + bracket(*this) + "/" + bracket(divisor) + ")";
  atom.quotient = std::make_shared<const std::pair<Dim, Dim>>(*this, divisor);
  return from_atom(std::move(atom));
}

void Dim::normalise() {
  int64_t common = denominator_;
  for (auto it = terms_.begin(); it != terms_.end();) {
    if (it->second == 0) {
      it = terms_.erase(it);
    } else {
      common = std::gcd(common, it->second);
      ++it;
    }
  }
  if (terms_.empty()) denominator_ = common = 1;
  for (auto& [monomial, c] : terms_) c /= common;
  denominator_ /= common;

  text_.clear();
  // Longest monomials first, so that "2*F + 1" reads as people write it.
  std::vector<const std::pair<const Monomial, int64_t>*> order;
  for (const auto& term : terms_) order.push_back(&term);
  std::stable_sort(order.begin(), order.end(), [](auto* a, auto* b) { return a->first.size() > b->first.size(); });
  for (const auto* term : order) {
    const auto& [monomial, c] = *term;
    const int64_t magnitude = std::abs(c);
    text_ += text_.empty() ? (c < 0 ? "-" : "") : (c < 0 ? " - " : " + ");
    bool first = true;
    if (magnitude != 1 || monomial.empty()) {
      text_ += std::to_string(magnitude);
      first = false;
    }
    for (const auto& atom : monomial) {
      if (!first) text_ += "*";
      text_ += atom.name;
      first = false;
    }
  }
  if (text_.empty()) text_ = "0";
  if (denominator_ != 1) {
    if (terms_.size() > 1) text_ = "(" + text_ + ")";
    text_ += "/" + std::to_string(denominator_);
  }
}

const std::string& Dim::text() const {
  static const std::string zero = "0";
  return text_.empty() ? zero : text_;
}

std::optional<int64_t> Dim::constant() const {
  if (terms_.empty()) return 0;
  if (terms_.size() == 1 && terms_.begin()->first.empty() && denominator_ == 1) return terms_.begin()->second;
  return std::nullopt;
}

std::set<std::string> Dim::symbols() const {
  std::set<std::string> names;
  for (const auto& [monomial, c] : terms_) {
    for (const auto& atom : monomial) {
      if (!atom.quotient) {
        names.insert(atom.name);
        continue;
      }
      names.merge(atom.quotient->first.symbols());
      names.merge(atom.quotient->second.symbols());
    }
  }
  return names;
}

std::optional<int64_t> Dim::evaluate(const Bindings& bindings) const {
  int64_t sum = 0;
  for (const auto& [monomial, c] : terms_) {
    int64_t product = c;
    for (const auto& atom : monomial) {
      int64_t value = 0;
      if (atom.quotient) {
        const auto numerator = atom.quotient->first.evaluate(bindings);
        const auto divisor = atom.quotient->second.evaluate(bindings);
        if (!numerator || !divisor || *divisor == 0 || *numerator % *divisor != 0) return std::nullopt;
        value = *numerator / *divisor;
      } else {
        const auto it = bindings.find(atom.name);
        if (it == bindings.end()) return std::nullopt;
        value = it->second;
      }
      if (!mul_checked(product, value, product)) return std::nullopt;
    }
    if (!add_checked(sum, product, sum)) return std::nullopt;
  }
  if (sum % denominator_ != 0) return std::nullopt;
  return sum / denominator_;
}

Dim Dim::substitute(const Bindings& bindings) const {
  Dim sum;
  for (const auto& [monomial, c] : terms_) {
    Dim product(c);
    for (const auto& atom : monomial) {
      if (atom.quotient) {
        const auto quotient =
            atom.quotient->first.substitute(bindings).divided_by(atom.quotient->second.substitute(bindings));
        product = product * quotient.value_or(from_atom(atom));
      } else if (const auto it = bindings.find(atom.name); it != bindings.end()) {
        product = product * Dim(it->second);
      } else {
        product = product * from_atom(atom);
      }
    }
    sum = sum + product;
  }
  return sum.divided_by(Dim(denominator_)).value();
}

std::optional<std::pair<Dim, Dim>> Dim::linear_in(const std::string& name) const {
  Dim slope, rest;
  for (const auto& [monomial, c] : terms_) {
    Dim term(c);
    int uses = 0;
    for (const auto& atom : monomial) {
      if (atom.quotient) {
        if (from_atom(atom).symbols().contains(name)) return std::nullopt;
        term = term * from_atom(atom);
      } else if (atom.name == name) {
        ++uses;
      } else {
        term = term * from_atom(atom);
      }
    }
    if (uses > 1) return std::nullopt;
    (uses == 1 ? slope : rest) = (uses == 1 ? slope : rest) + term;
  }
  const Dim denominator(denominator_);
  return std::pair(slope.divided_by(denominator).value(), rest.divided_by(denominator).value());
}

}  // namespace coda
