// Symbolic extents: polynomials with integer coefficients in named symbols, over one positive integer denominator,
// with quotients by symbols as opaque atoms. The canonical text is the identity of a dimension. Depends on nothing.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace coda {

/// Values of symbols.
using Bindings = std::map<std::string, int64_t>;

class Dim {
 public:
  /// Zero.
  Dim() = default;
  Dim(int64_t value);  // NOLINT(google-explicit-constructor): integers read as dimensions everywhere
  static Dim symbol(const std::string& name);

  Dim operator+(const Dim& other) const;
  Dim operator-(const Dim& other) const;
  Dim operator*(const Dim& other) const;
  /// The exact quotient. It is an error at launch if the division leaves a remainder; dividing by the constant 0 gives
  /// nothing.
  std::optional<Dim> divided_by(const Dim& divisor) const;

  /// Canonical spelling, e.g. "2*F", "Hq*Dh + 2*Hkv*Dh", "Dh/2", "(N/G)". Equal dimensions have equal text.
  const std::string& text() const;
  std::optional<int64_t> constant() const;
  /// The constant term of a polynomial with integer coefficients; 0 if there is a denominator.
  int64_t constant_term() const;
  /// Is it a polynomial over 1, so that it needs no divisibility to be an integer (apart from opaque quotients)?
  bool is_integral() const { return denominator() == 1; }
  bool is_zero() const { return value_ == nullptr; }
  /// The polynomial's monomials, each with coefficient 1, and their integer coefficients; over `denominator()`.
  std::vector<std::pair<Dim, int64_t>> monomials() const;
  int64_t denominator() const { return value_ ? value_->denominator : 1; }
  /// The first monomial with a negative coefficient, if any: without one it is not negative, whatever its symbols are.
  std::optional<Dim> negative_monomial() const;
  /// The coefficient of a monomial as `negative_monomial` gives it; over `denominator()`.
  int64_t coefficient(const Dim& monomial) const;
  std::set<std::string> symbols() const;

  /// Value under `bindings`; nothing if a symbol is unbound, a quotient leaves a remainder, or the value overflows.
  std::optional<int64_t> evaluate(const Bindings& bindings) const;
  /// Replaces the bound symbols by their values.
  Dim substitute(const Bindings& bindings) const;
  /// Each of these symbols called otherwise, all at once.
  Dim renamed(const std::map<std::string, std::string>& symbols) const;
  /// If this is `a*name + b` with neither a nor b mentioning `name`: (a, b).
  std::optional<std::pair<Dim, Dim>> linear_in(const std::string& name) const;

  bool operator==(const Dim& other) const { return value_ == other.value_ || text() == other.text(); }
  std::strong_ordering operator<=>(const Dim& other) const { return text() <=> other.text(); }

 private:
  /// A symbol, or an opaque quotient whose canonical text is its name.
  struct Atom {
    std::string name;
    std::shared_ptr<const std::pair<Dim, Dim>> quotient;
    bool operator==(const Atom& other) const { return name == other.name; }
    bool operator<(const Atom& other) const { return name < other.name; }
  };
  using Monomial = std::vector<Atom>;  // sorted, with repetition; empty = the constant term

  /// Shared between copies, since the graphs' nodes are full of the same dimensions.
  struct Value {
    std::map<Monomial, int64_t> terms;
    int64_t denominator = 1;
    std::string text;
    void normalise();
  };
  static Dim of(Value value);
  template <class Replacement>
  Dim replaced(const Replacement& replacement) const;
  static Dim from_atom(Atom atom);
  const std::map<Monomial, int64_t>& terms() const;

  std::shared_ptr<const Value> value_;  // null: zero
};

}  // namespace coda
