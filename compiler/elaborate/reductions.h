// Reductions: `sum(x, over = N)`, over one dimension or several.
#pragma once

#include "compiler/elaborate/calls.h"

namespace coda {

Value reduce_call(const CallSite& site, const Reduction& reduction);

}  // namespace coda
