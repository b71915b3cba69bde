// Calls of `fn`s: arguments are bound and the body is elaborated in its place. Nothing of a call remains in the graph.
#pragma once

#include "compiler/elaborate/calls.h"

namespace coda {

Value inline_call(const CallSite& site, const FunctionRef& function);

}  // namespace coda
