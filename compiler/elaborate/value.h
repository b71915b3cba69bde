// What an expression means while a program is elaborated: a node of the graph with its dimensions in order, a tuple of
// such, or nothing sayable (poison). The order of dimensions is a front-end notion: graph nodes carry sets.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "dsl/source.h"

namespace coda {

/// One dimension of a value, and the operand that brought it (for messages).
struct ValueDim {
  NamedDim dim;
  Span origin;
};

struct Value {
  enum class Kind : uint8_t {
    Poison,  ///< an error was reported: everything made from it is poison, silently
    Tensor,  ///< `node` with `dims`; scalars have none
    Tuple,   ///< `elements`
  };
  Kind kind = Kind::Poison;
  NodeId node = kNoNode;
  std::vector<ValueDim> dims;
  /// The element type, as long as the value is the bits of a stored tensor or of a written cast; computed values have
  /// none and are f32, i64 or truth values.
  std::optional<DType> element;
  /// Set for what may be used as an extent or a dimension: a symbol, an integer, `last(x)`, an argument that is one.
  /// A name that is empty stands for a bare number.
  std::optional<NamedDim> dimension;
  std::vector<Value> elements;
  Span span;

  bool is_poison() const { return kind == Kind::Poison; }
  bool is_tensor() const { return kind == Kind::Tensor; }
  bool is_tuple() const { return kind == Kind::Tuple; }

  const ValueDim* find_dim(const std::string& name) const;

  static Value poison(Span span);
  static Value scalar(NodeId node, Span span);
  static Value tuple(std::vector<Value> elements, Span span);
};

/// The dimension as a user wrote it: its name, or the extent of an unnamed one.
std::string spelled(const NamedDim& dim);
/// "[M, N]"; "a scalar" if there are none.
std::string spelled(const std::vector<ValueDim>& dims);
std::vector<std::string> dim_names(const std::vector<ValueDim>& dims);

}  // namespace coda
