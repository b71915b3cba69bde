// The element types that a matrix product takes.
#pragma once

#include <string>

#include "runtime/format/dtype.h"

namespace coda {

/// Whether a product takes operands of these types: one float type of 16 or 32 bits, or any two of 8 bits.
bool can_multiply(DType a, DType b);

/// What to do where it doesn't, for operands called `a` and `b`.
std::string way_out_of_types(const std::string& a, DType a_type, const std::string& b, DType b_type);

}  // namespace coda
