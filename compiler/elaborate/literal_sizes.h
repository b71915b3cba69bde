// Literal sizes match nothing by name: how a program names them.
#pragma once

#include <optional>
#include <string>

#include "compiler/elaborate/context.h"

namespace coda {

/// "write `F` for 14336 and `2*F` for 28672 in the signature, and `where F = 14336` behind it".
std::string name_literal(const Context& context, int64_t size);
/// Of two dimensions of which one at least has no name.
std::string name_literals(const Context& context, const NamedDim& left, const NamedDim& right);

}  // namespace coda
