// Index maps as the short notation of reports.
#pragma once

#include <string>

#include "compiler/ir/graph.h"

namespace coda {

/// The dimension's name as a program writes it.
std::string dim_text(const NamedDim& dim);
/// "[F:2*F]", "[1::2]", "[M as M2]"; "" where the map only takes all of `dim` apart or together.
std::string part_text(const NamedDim& dim, const AffineMap& map);

}  // namespace coda
