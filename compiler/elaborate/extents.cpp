#include "compiler/elaborate/extents.h"

#include <algorithm>

#include "compiler/elaborate/expressions.h"
#include "dsl/suggest.h"

namespace coda {

namespace {

std::optional<ExtentRef> ref_to(const NamedDim& dim) {
  if (dim.name.empty()) return ExtentRef{dim.extent, std::nullopt};
  return ExtentRef{dim.extent, dim};
}

std::optional<ExtentRef> name_extent(Context& context, Scope& scope, const std::string& name, Span span) {
  const auto variable = scope.variables.find(name);
  if (variable != scope.variables.end() && variable->second.value.dimension) {
    variable->second.used = true;
    return ref_to(*variable->second.value.dimension);
  }
  if (scope.is_routine) {
    if (const auto* entry = context.dims.find(name)) return ref_to(entry->dim);
    if (context.declaring) return ref_to(context.dims.declare_symbol(name, span).dim);
  }
  if (variable != scope.variables.end()) {
    if (!variable->second.value.is_poison()) context.report(DiagId::E0214, span, {name});
    return std::nullopt;
  }
  if (!scope.is_routine) {
    context.report(DiagId::E0213, span, {name, "take it from an argument with `last(x)`, or pass it as an argument"});
    return std::nullopt;
  }
  context.report(DiagId::E0213, span, {name, suggestion(name, context.dims.names(), "the dimensions here are", "")});
  return std::nullopt;
}

size_t longest_number(const std::string& text) {
  size_t longest = 0, length = 0;
  for (const char c : text) {
    length = c >= '0' && c <= '9' ? length + 1 : 0;
    longest = std::max(longest, length);
  }
  return longest;
}

std::optional<ExtentRef> combine(Context& context, Span span, char op, const Dim& left, const Dim& right) {
  std::optional<Dim> result;
  if (!fits_in_extent(left, right)) {
    context.report(DiagId::E0271, span);
  } else if (op == '/') {
    result = exact_quotient(context, span, left, right);
  } else {
    result = op == '+' ? left + right : op == '-' ? left - right : left * right;
  }
  if (!result) return std::nullopt;
  if (result->symbols().empty()) return ExtentRef{*result, std::nullopt};
  return ExtentRef{*result, NamedDim{result->text(), *result}};
}

std::optional<ExtentRef> last_of(Context& context, Scope& scope, const ast::Call& call, Span span) {
  if (call.arguments.size() != 1 || call.arguments[0].keyword) {
    context.report(DiagId::E0220, span, {"last", "1 argument", std::to_string(call.arguments.size()), "last(x)"});
    return std::nullopt;
  }
  const Value value = evaluate_tensor(context, scope, *call.arguments[0].value);
  if (value.is_poison()) return std::nullopt;
  if (value.dims.empty()) {
    context.report(DiagId::E0247, span, {context.quoted(value.span, "the argument"), "no dimensions"});
    return std::nullopt;
  }
  return ref_to(value.dims.back().dim);
}

}  // namespace

bool fits_in_extent(const Dim& left, const Dim& right) {
  constexpr size_t kMostDigits = 18, kLongestText = 600;
  const std::string &a = left.text(), &b = right.text();
  return longest_number(a) + longest_number(b) <= kMostDigits && a.size() + b.size() <= kLongestText;
}

std::optional<ExtentRef> evaluate_extent(Context& context, Scope& scope, const ast::Expr& expr) {
  const DepthGuard guard(context, expr.span);
  if (!guard.ok()) return std::nullopt;
  if (const auto* number = std::get_if<ast::NumberLit>(&expr.node); number != nullptr && number->is_integer) {
    // Products of a few such numbers stay inside 64 bits.
    constexpr int64_t kLargestLiteral = int64_t{1} << 31;
    if (number->integer <= kLargestLiteral) return ExtentRef{Dim(number->integer), std::nullopt};
  }
  if (const auto* name = std::get_if<ast::NameRef>(&expr.node)) {
    return name_extent(context, scope, name->name, expr.span);
  }
  if (const auto* unary = std::get_if<ast::Unary>(&expr.node); unary != nullptr && unary->op == "-") {
    const auto operand = evaluate_extent(context, scope, *unary->operand);
    if (!operand) return std::nullopt;
    return combine(context, expr.span, '-', Dim(0), operand->extent);
  }
  if (const auto* binary = std::get_if<ast::Binary>(&expr.node)) {
    const bool known = binary->op == "+" || binary->op == "-" || binary->op == "*" || binary->op == "/";
    if (known) {
      const auto left = evaluate_extent(context, scope, *binary->left);
      const auto right = evaluate_extent(context, scope, *binary->right);
      if (!left || !right) return std::nullopt;
      return combine(context, expr.span, binary->op[0], left->extent, right->extent);
    }
  }
  if (const auto* call = std::get_if<ast::Call>(&expr.node); call != nullptr && call->callee.text == "last") {
    return last_of(context, scope, *call, expr.span);
  }
  if (const auto* tuple = std::get_if<ast::Tuple>(&expr.node); tuple != nullptr && tuple->elements.size() == 1) {
    return evaluate_extent(context, scope, *tuple->elements[0]);
  }
  context.report(DiagId::E0233, expr.span);
  return std::nullopt;
}

std::optional<size_t> find_dimension(Context& context, Scope& scope, const Value& value, const ast::Expr& expr) {
  const auto wanted = evaluate_extent(context, scope, expr);
  if (!wanted) return std::nullopt;
  std::optional<size_t> found;
  int matches = 0;
  for (size_t i = 0; i < value.dims.size(); ++i) {
    const NamedDim& dim = value.dims[i].dim;
    const bool matches_here = wanted->named ? dim == *wanted->named : is_unnamed(dim) && dim.extent == wanted->extent;
    if (!matches_here) continue;
    found = i;
    ++matches;
  }
  if (matches == 1) return found;
  const std::string name = wanted->named ? spelled(*wanted->named) : wanted->extent.text();
  if (matches > 1) {
    context.report(DiagId::E0249, expr.span, {name, spelled(value.dims)});
    return std::nullopt;
  }
  const std::string way_out = suggestion(name, dim_names(value.dims), "its dimensions are", "a scalar has none");
  context.report(DiagId::E0240, expr.span,
                 {name, context.quoted(value.span, "the operand"), spelled(value.dims), way_out});
  return std::nullopt;
}

std::optional<Dim> exact_quotient(Context& context, Span span, const Dim& extent, const Dim& parts) {
  const auto quotient = extent.divided_by(parts);
  if (!quotient) {
    context.report(DiagId::E0234, span, {extent.text(), parts.text()});
    return std::nullopt;
  }
  const auto value = extent.evaluate(context.program.bound);
  const bool inexact = value && !quotient->evaluate(context.program.bound);
  if (!inexact) return quotient;
  std::string what = extent.text();
  if (!extent.constant()) what += " = " + std::to_string(*value);
  context.report(DiagId::E0248, span, {what, parts.text()});
  return std::nullopt;
}

}  // namespace coda
