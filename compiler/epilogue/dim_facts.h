// What is known of symbolic extents without their values: order and divisibility, from the shape of the polynomials
// (every symbol is an extent, so none is negative) and the facts of the `where` clause. "false" means: not provable.
#pragma once

#include <vector>

#include "compiler/ir/graph.h"

namespace coda {

class DimFacts {
 public:
  DimFacts(const std::vector<DimFact>& facts, const Bindings& bound);

  bool not_negative(const Dim& value) const { return not_negative(value, 3); }
  bool at_most(const Dim& a, const Dim& b) const { return not_negative(b - a); }
  bool less(const Dim& a, const Dim& b) const { return not_negative(b - a - Dim(1)); }
  /// Is value a multiple of divisor, wherever the facts hold?
  bool divisible(const Dim& value, int64_t divisor) const;
  /// The quotient, if it is exact for all values of the symbols that fulfil the facts.
  std::optional<Dim> exact_quotient(const Dim& value, const Dim& divisor) const;

 private:
  bool not_negative(const Dim& value, int depth) const;
  int64_t known_factor(const Dim& monomial) const;

  std::vector<Dim> not_negative_;                   // left - right of each inequality
  std::vector<std::pair<Dim, int64_t>> multiples_;  // (value, divisor)
};

}  // namespace coda
