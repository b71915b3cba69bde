// Elementwise work: operands broadcast by name, the left operand's dimensions first.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "compiler/elaborate/context.h"

namespace coda {

/// The union of the operands' dimensions; nothing after a report.
std::optional<std::vector<ValueDim>> broadcast(Context& context, Span span, const std::vector<Value>& operands);

/// An op of the table, with checks of number classes.
Value apply_op(Context& context, const Op* op, std::vector<Value> operands, Span span);

/// `+ - * /`, `**` and the comparisons and logic, by their spelling.
Value binary_operator(Context& context, std::string_view op, const Value& left, const Value& right, Span span);
Value unary_operator(Context& context, std::string_view op, const Value& operand, Span span);

/// Reports a truth value where a number is needed.
bool require_number(Context& context, const Value& value);
NumClass class_of(Context& context, const Value& value);
/// A node of class Real with the value's number; exact for what fits.
NodeId as_real(Context& context, NodeId node);

}  // namespace coda
