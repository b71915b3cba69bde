// `A @ B`: NumPy's matmul by position, with names that must agree.
#pragma once

#include "compiler/elaborate/context.h"

namespace coda {

Value matmul(Context& context, const Value& left, const Value& right, Span span);

/// Reports a dimension that occurs twice in a result, with the rename that helps.
bool require_distinct(Context& context, const std::vector<ValueDim>& dims, const Value& operand, Span span);

}  // namespace coda
