// Functions that no kernel calls have no shapes to be elaborated with; their names can be checked all the same.
#pragma once

#include "compiler/elaborate/context.h"
#include "dsl/ast.h"

namespace coda {

/// Reports names and functions of the body that are nowhere defined.
void check_uncalled(Context& context, const SourceModule& module, const ast::Function& function);

}  // namespace coda
