// A routine's head: type parameters, parameters and outputs with their dimensions, facts, and which symbols are known.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/elaborate/context.h"
#include "compiler/elaborate/elaborate.h"
#include "dsl/ast.h"

namespace coda {

/// Fills `context.program` and the names that the routine's body sees.
void elaborate_signature(Context& context, Scope& scope, const ast::Routine& routine, const ElaborateRequest& request);

/// Reads the facts, binds what they and the request fix, and names each symbol that nothing determines.
void elaborate_facts(Context& context, Scope& scope, const ast::Routine& routine, const ElaborateRequest& request);

std::optional<DType> element_type(Context& context, const Scope& scope, const ast::Name& name);
/// The dimensions of an annotation, all different; nothing after a report. `what` names their owner in messages.
std::optional<std::vector<NamedDim>> declared_dims(Context& context, Scope& scope,
                                                   const std::vector<ast::DimAnnotation>& dims,
                                                   const std::string& what);

}  // namespace coda
