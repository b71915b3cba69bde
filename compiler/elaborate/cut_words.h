// halves, pairs, split, group.
#pragma once

#include "compiler/elaborate/calls.h"

namespace coda {

Value cut_halves(const CallSite& site);
Value cut_pairs(const CallSite& site);
Value cut_split(const CallSite& site);
Value cut_group(const CallSite& site);

}  // namespace coda
