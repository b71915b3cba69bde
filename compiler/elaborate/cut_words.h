// halves, pairs, split, group.
#pragma once

#include "compiler/elaborate/calls.h"

namespace coda {

Value cut_halves(const CallSite& site);
Value cut_pairs(const CallSite& site);
Value cut_split(const CallSite& site);
Value cut_group(const CallSite& site);
/// The dimension at `position` as two: groups, and the elements of a group.
Value group_at(Context& context, const Value& value, size_t position, const NamedDim& inner, Span span);

}  // namespace coda
