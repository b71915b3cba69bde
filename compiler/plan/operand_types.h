// The element types in which a plan keeps what matrix products read. A parameter's type is declared, a written cast's
// is rigid; what is otherwise computed is rounded to the type of what it is multiplied with. Not part of the public
// surface of compiler/plan.
#pragma once

#include <optional>
#include <utility>

#include "compiler/ir/graph.h"

namespace coda {

/// The type that every element of a value has without any further rounding: a parameter's, a written cast's, or that of
/// the pieces it is put together from; nothing for what is computed.
std::optional<DType> written_type(const Graph& graph, const Program& block, NodeId value);

/// Does every value of `narrow` exist in `wide`?
bool holds_exactly(DType wide, DType narrow);

/// Whether a computed value keeps its relative precision in this type, however it is scaled.
bool keeps_any_scale(DType type);

using OperandTypes = std::pair<std::optional<DType>, std::optional<DType>>;

/// The types in which two operands are multiplied, given those that they have as written; none for one that is
/// computed. Types that no product takes together become one that holds both as well as it can, and nothing that is
/// computed is rounded to 8 bits, which no one wrote. Beside a parameter of 32 bits a computed operand is kept as what
/// is computed is kept elsewhere in the block, in its `storage` type, and the parameter with it. Of two that are
/// computed neither type is known.
OperandTypes product_types(std::optional<DType> a, std::optional<DType> b, DType storage);

}  // namespace coda
