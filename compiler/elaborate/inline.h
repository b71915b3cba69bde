// Calls of `fn`s: arguments are bound and the body is elaborated in its place. Nothing of a call remains in the graph.
#pragma once

#include "compiler/elaborate/calls.h"

namespace coda {

/// The function applied to given values, one for each parameter.
Value inline_values(Context& context, const SourceModule& caller, const FunctionRef& callee, std::vector<Value> values,
                    Span span);
Value inline_call(const CallSite& site, const FunctionRef& function);

}  // namespace coda
