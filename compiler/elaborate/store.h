// Values against declared types: stores into outputs and inouts, typed `let`s.
#pragma once

#include "compiler/elaborate/context.h"
#include "dsl/ast.h"

namespace coda {

/// `target = value`, or `target += value`.
void store(Context& context, Scope& scope, const ast::Name& target, const Value& value, bool accumulate,
           Span statement);

/// `let h: bf16[M, N] = value`: rounded to the type, with the declared dimensions in the declared order.
Value as_declared(Context& context, Scope& scope, const Value& value, const ast::TypeExpr& type);

}  // namespace coda
