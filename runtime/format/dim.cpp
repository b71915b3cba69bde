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

Dim Dim::of(Value value) {
  value.normalise();
  Dim dim;
  if (!value.terms.empty()) dim.value_ = std::make_shared<const Value>(std::move(value));
  return dim;
}

const std::map<Dim::Monomial, int64_t>& Dim::terms() const {
  static const std::map<Monomial, int64_t> none;
  return value_ ? value_->terms : none;
}

Dim::Dim(int64_t value) {
  if (value == INT64_MIN) {
    *this = symbol(kTooLarge);
    return;
  }
  Value constant;
  constant.terms[{}] = value;
  *this = of(std::move(constant));
}

Dim Dim::symbol(const std::string& name) { return from_atom({name, nullptr}); }

Dim Dim::from_atom(Atom atom) {
  Value value;
  value.terms[{std::move(atom)}] = 1;
  return of(std::move(value));
}

Dim Dim::operator+(const Dim& other) const {
  if (is_zero()) return other;
  if (other.is_zero()) return *this;
  Value sum;
  bool fits =
      mul_checked(denominator(), other.denominator() / std::gcd(denominator(), other.denominator()), sum.denominator);
  auto add_terms = [&](const Dim& part) {
    for (const auto& [monomial, c] : part.terms()) {
      int64_t scaled = 0, &total = sum.terms[monomial];
      fits = fits && mul_checked(c, sum.denominator / part.denominator(), scaled) && add_checked(total, scaled, total);
    }
  };
  add_terms(*this);
  add_terms(other);
  return fits ? of(std::move(sum)) : symbol(kTooLarge);
}

Dim Dim::operator-(const Dim& other) const { return *this + other * Dim(-1); }

Dim Dim::operator*(const Dim& other) const {
  Value product;
  bool fits = mul_checked(denominator(), other.denominator(), product.denominator);
  for (const auto& [ma, ca] : terms()) {
    for (const auto& [mb, cb] : other.terms()) {
      Monomial monomial = ma;
      monomial.insert(monomial.end(), mb.begin(), mb.end());
      std::sort(monomial.begin(), monomial.end());
      int64_t c = 0, &total = product.terms[monomial];
      fits = fits && mul_checked(ca, cb, c) && add_checked(total, c, total);
    }
  }
  return fits ? of(std::move(product)) : symbol(kTooLarge);
}

int64_t Dim::constant_term() const {
  const auto it = is_integral() ? terms().find({}) : terms().end();
  return it == terms().end() ? 0 : it->second;
}

std::vector<std::pair<Dim, int64_t>> Dim::monomials() const {
  std::vector<std::pair<Dim, int64_t>> list;
  for (const auto& [monomial, coefficient] : terms()) {
    Value one;
    one.terms[monomial] = 1;
    list.emplace_back(of(std::move(one)), coefficient);
  }
  return list;
}

std::optional<Dim> Dim::negative_monomial() const {
  for (const auto& [monomial, coefficient] : terms()) {
    if (coefficient >= 0) continue;
    Value one;
    one.terms[monomial] = 1;
    return of(std::move(one));
  }
  return std::nullopt;
}

int64_t Dim::coefficient(const Dim& monomial) const {
  if (monomial.terms().size() != 1) return 0;
  const auto it = terms().find(monomial.terms().begin()->first);
  return it == terms().end() ? 0 : it->second;
}

std::optional<Dim> Dim::divided_by(const Dim& divisor) const {
  if (divisor.is_zero()) return std::nullopt;
  if (is_zero()) return Dim();
  if (divisor.terms().size() == 1) {  // a monomial: divide term by term where every term has its atoms
    const auto& [monomial, coefficient] = *divisor.terms().begin();
    Value quotient;
    bool divides = true, fits = true;
    for (const auto& [m, c] : terms()) {
      Monomial rest;
      divides = divides && std::includes(m.begin(), m.end(), monomial.begin(), monomial.end());
      std::set_difference(m.begin(), m.end(), monomial.begin(), monomial.end(), std::back_inserter(rest));
      fits = fits &&
             mul_checked(c, coefficient < 0 ? -divisor.denominator() : divisor.denominator(), quotient.terms[rest]);
    }
    if (divides) {
      fits = fits && mul_checked(denominator(), std::abs(coefficient), quotient.denominator);
      return fits ? of(std::move(quotient)) : symbol(kTooLarge);
    }
  }
  if (*this == divisor) return Dim(1);
  Atom atom;
  auto bracket = [](const Dim& d) {
    const bool simple = d.terms().size() == 1 && d.is_integral();
    return simple ? d.text() : "(" + d.text() + ")";
  };
  atom.name = "(" + bracket(*this) + "/" + bracket(divisor) + ")";
  atom.quotient = std::make_shared<const std::pair<Dim, Dim>>(*this, divisor);
  return from_atom(std::move(atom));
}

void Dim::Value::normalise() {
  int64_t common = denominator;
  for (auto it = terms.begin(); it != terms.end();) {
    if (it->second == 0) {
      it = terms.erase(it);
    } else {
      common = std::gcd(common, it->second);
      ++it;
    }
  }
  if (terms.empty()) return;
  for (auto& [monomial, c] : terms) c /= common;
  denominator /= common;

  text.clear();
  // Longest monomials first, so that "2*F + 1" reads as people write it.
  std::vector<const std::pair<const Monomial, int64_t>*> order;
  for (const auto& term : terms) order.push_back(&term);
  std::stable_sort(order.begin(), order.end(), [](auto* a, auto* b) { return a->first.size() > b->first.size(); });
  for (const auto* term : order) {
    const auto& [monomial, c] = *term;
    const int64_t magnitude = std::abs(c);
    text += text.empty() ? (c < 0 ? "-" : "") : (c < 0 ? " - " : " + ");
    bool first = true;
    if (magnitude != 1 || monomial.empty()) {
      text += std::to_string(magnitude);
      first = false;
    }
    for (const auto& atom : monomial) {
      if (!first) text += "*";
      text += atom.name;
      first = false;
    }
  }
  if (denominator != 1) {
    if (terms.size() > 1) text = "(" + text + ")";
    text += "/" + std::to_string(denominator);
  }
}

const std::string& Dim::text() const {
  static const std::string zero = "0";
  return value_ ? value_->text : zero;
}

std::optional<int64_t> Dim::constant() const {
  if (is_zero()) return 0;
  if (terms().size() == 1 && terms().begin()->first.empty() && is_integral()) return terms().begin()->second;
  return std::nullopt;
}

std::set<std::string> Dim::symbols() const {
  std::set<std::string> names;
  for (const auto& [monomial, c] : terms()) {
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
  for (const auto& [monomial, c] : terms()) {
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
  if (sum % denominator() != 0) return std::nullopt;
  return sum / denominator();
}

/// `replacement` gives the Dim for a symbol's name, or nothing to keep it.
template <class Replacement>
Dim Dim::replaced(const Replacement& replacement) const {
  Dim sum;
  for (const auto& [monomial, c] : terms()) {
    Dim product(c);
    for (const auto& atom : monomial) {
      if (atom.quotient) {
        const auto quotient =
            atom.quotient->first.replaced(replacement).divided_by(atom.quotient->second.replaced(replacement));
        product = product * quotient.value_or(from_atom(atom));
      } else {
        const std::optional<Dim> other = replacement(atom.name);
        product = product * (other ? *other : from_atom(atom));
      }
    }
    sum = sum + product;
  }
  return sum.divided_by(Dim(denominator())).value();
}

Dim Dim::substitute(const Bindings& bindings) const {
  return replaced([&](const std::string& name) -> std::optional<Dim> {
    const auto it = bindings.find(name);
    return it == bindings.end() ? std::nullopt : std::optional<Dim>(it->second);
  });
}

Dim Dim::renamed(const std::map<std::string, std::string>& symbols) const {
  return replaced([&](const std::string& name) -> std::optional<Dim> {
    const auto it = symbols.find(name);
    return it == symbols.end() ? std::nullopt : std::optional<Dim>(Dim::symbol(it->second));
  });
}

std::optional<std::pair<Dim, Dim>> Dim::linear_in(const std::string& name) const {
  Dim slope, rest;
  for (const auto& [monomial, c] : terms()) {
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
  const Dim divisor(denominator());
  return std::pair(slope.divided_by(divisor).value(), rest.divided_by(divisor).value());
}

}  // namespace coda
