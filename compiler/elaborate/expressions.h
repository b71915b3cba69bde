// Expressions to values: names, literals, operators; calls go to calls.h.
#pragma once

#include "compiler/elaborate/context.h"
#include "dsl/ast.h"

namespace coda {

/// The value of an expression; poison after a report.
Value evaluate(Context& context, Scope& scope, const ast::Expr& expr);
/// The same, where one value is needed: a tuple is reported.
Value evaluate_tensor(Context& context, Scope& scope, const ast::Expr& expr);
/// `let h: bf16`, `bf16(x)`: a rigid rounding.
Value cast_to(Context& context, const Value& value, DType dtype, Span span);
/// The value of an expression of literals alone, as a default or a schedule entry has; nothing after a report.
std::optional<double> evaluate_constant(Context& context, const SourceModule& module, const ast::Expr& expr);

/// Counts the nesting of expressions through inlined bodies; reports once when it is too deep for the stack.
class DepthGuard {
 public:
  DepthGuard(Context& context, Span span);
  ~DepthGuard() { --context_.depth; }
  DepthGuard(const DepthGuard&) = delete;
  DepthGuard& operator=(const DepthGuard&) = delete;
  bool ok() const { return ok_; }

 private:
  Context& context_;
  bool ok_;
};

}  // namespace coda
