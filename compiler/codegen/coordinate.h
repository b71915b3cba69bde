// Coordinates of a code generator: affine forms over the generator's variables (tile start, quad index, loop counters)
// with exact division where facts prove it, so that a node of the graph can be evaluated at a place known only partly
// at compile time. LLVM-free.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ir/graph.h"
#include "runtime/format/dim.h"

namespace coda {

using VarId = int32_t;

/// An exact fraction; the denominator is positive and coprime to the numerator.
struct Fraction {
  int64_t numerator = 0, denominator = 1;
  static Fraction of(int64_t numerator, int64_t denominator);
  bool operator==(const Fraction&) const = default;
};

/// symbolic + constant + sum of fraction * variable; always an integer (a fraction divides what is known of its
/// variable's multiples).
class Coord {
 public:
  struct Term {
    VarId variable;
    Fraction factor;
    bool operator==(const Term&) const = default;
  };

  Coord() = default;
  Coord(int64_t constant) : constant_(constant) {}  // NOLINT(google-explicit-constructor): integers are coordinates
  static Coord variable(VarId variable, int64_t factor = 1);
  static Coord of(const Dim& value);

  Coord operator+(const Coord& other) const;
  Coord operator-(const Coord& other) const;
  Coord operator*(int64_t factor) const;
  /// Nothing if a variable would get a symbolic factor.
  std::optional<Coord> times(const Dim& factor) const;

  int64_t constant() const { return constant_; }
  const Dim& symbolic() const { return symbolic_; }  ///< without its constant term
  const std::vector<Term>& terms() const { return terms_; }
  /// The value if there is no variable; its constant if there is no symbol either.
  std::optional<Dim> as_dim() const;
  std::optional<int64_t> as_constant() const;
  Fraction factor_of(VarId variable) const;
  /// Its terms one by one, and what has no variable.
  std::pair<std::vector<Coord>, Coord> split() const;
  bool operator==(const Coord&) const = default;
  size_t hash() const;

 private:
  friend class CoordSpace;
  Dim symbolic_;  // has no constant term
  int64_t constant_ = 0;
  std::vector<Term> terms_;  // sorted by variable, no zero factor
};

enum class Answer : uint8_t { No, Yes, Unknown };

/// What is known of a variable. Without `count` and `bound` it may have any value, also a negative one.
struct VarFacts {
  std::string name;              ///< for dumps
  std::optional<int64_t> count;  ///< 0 <= value < count
  std::optional<Dim> bound;      ///< 0 <= value < bound
  int64_t multiple_of = 1;
};

/// The variables of one function and what is known of them. Facts hold where they matter: a generator may state that a
/// column is below the extent although a ragged tile goes beyond it, as nothing is kept of what lies there.
class CoordSpace {
 public:
  VarId add(VarFacts facts);
  const VarFacts& facts(VarId variable) const { return variables_[variable]; }

  /// From here on 0 <= coordinate < extent.
  void assume(const Coord& coordinate, const Dim& extent);

  struct Range {
    std::optional<int64_t> low, high;  ///< both inclusive
  };
  Range range(const Coord& coordinate) const;

  /// Is low <= coordinate < low + length wherever it matters?
  Answer inside(const Coord& coordinate, const Dim& low, const Dim& length) const;
  bool equal(const Coord& a, const Coord& b) const { return a == b; }

  /// (floor(coordinate / divisor), coordinate mod divisor) if both are affine; divisor > 0.
  std::optional<std::pair<Coord, Coord>> divide(const Coord& coordinate, int64_t divisor) const;

  /// For messages: different variables may have one name.
  std::string to_text(const Coord& coordinate) const;

 private:
  struct Assumption {
    Coord coordinate;
    Dim extent;
  };
  std::vector<VarFacts> variables_;
  std::vector<Assumption> assumptions_;
};

struct CoordHash {
  size_t operator()(const Coord& coordinate) const { return coordinate.hash(); }
};

/// An element of a parameter, to be remembered by. Text is no key: variables that were bound share names.
struct ElementKey {
  int param;
  std::vector<Coord> index;
  bool operator==(const ElementKey&) const = default;
};
struct ElementKeyHash {
  size_t operator()(const ElementKey& key) const;
};

/// The coordinate of each named dimension in scope.
class Env {
 public:
  void set(const std::string& dim, Coord coordinate);
  void erase(const std::string& dim);
  const Coord* find(const std::string& dim) const;
  const std::vector<std::pair<std::string, Coord>>& all() const { return coordinates_; }

 private:
  std::vector<std::pair<std::string, Coord>> coordinates_;  // few: a linear search beats a map
};

}  // namespace coda
