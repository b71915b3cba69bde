// Reductions: `sum(x, over = N)`, over one dimension or several.
#pragma once

#include "compiler/elaborate/calls.h"

namespace coda {

/// The positions that `over` names; nothing after a report.
std::optional<std::vector<size_t>> positions_of(const CallSite& site, const Value& value, const ast::Expr& over);
/// `value` reduced over the dimensions that the call names by `over`.
Value reduced(const CallSite& site, const Reduction& reduction, const Value& value);

Value reduce_call(const CallSite& site, const Reduction& reduction);

}  // namespace coda
