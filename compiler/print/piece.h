// A printed expression and what its surroundings have to know of it.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/graph.h"

namespace coda {

/// How tightly an expression holds together, from the grammar's loosest production to its tightest.
enum class Level : uint8_t { Or, And, Not, Comparison, Sum, Product, Prefix, Power, Primary };

struct Piece {
  std::string text;
  Level level = Level::Primary;
  std::vector<NamedDim> dims;  ///< in the order that the language gives them
  bool is_stored = false;      ///< the bits of a stored tensor or of a cast: `@` knows how to round beside it

  /// In parentheses if it is looser than `needed`.
  std::string at(Level needed) const { return level < needed ? "(" + text + ")" : text; }
  /// As the right operand of an operator of this level.
  std::string right_of(Level op) const { return level <= op ? "(" + text + ")" : text; }
  bool has(const NamedDim& dim) const {
    for (const NamedDim& d : dims) {
      if (d == dim) return true;
    }
    return false;
  }
};

/// The union of the dimensions, the first one's first.
inline void broadcast_with(std::vector<NamedDim>& dims, const std::vector<NamedDim>& other) {
  for (const NamedDim& dim : other) {
    bool known = false;
    for (const NamedDim& present : dims) known = known || present == dim;
    if (!known) dims.push_back(dim);
  }
}

}  // namespace coda
