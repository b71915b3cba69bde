// join_halves, join_pairs, concat, flatten.
#pragma once

#include "compiler/elaborate/calls.h"

namespace coda {

Value join_halves(const CallSite& site);
Value join_pairs(const CallSite& site);
Value join_concat(const CallSite& site);
Value join_flatten(const CallSite& site);
/// The dimensions at these positions as one, the first the slowest.
Value flatten_at(Context& context, const Value& value, const std::vector<size_t>& positions, Span span);

}  // namespace coda
