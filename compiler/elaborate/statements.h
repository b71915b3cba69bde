// Statements: `let`, assignments of outputs, the value of a `fn`.
#pragma once

#include "compiler/elaborate/context.h"
#include "dsl/ast.h"

namespace coda {

Value run_function(Context& context, Scope& scope, const ast::Function& function);
/// Runs a routine's body and collects its outputs; reports outputs that are never assigned.
void run_routine(Context& context, Scope& scope, const ast::Routine& routine);

}  // namespace coda
