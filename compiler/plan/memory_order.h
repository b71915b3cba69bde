// In which order the dimensions of a tensor that a plan keeps lie in memory: as its makers and readers have them, never
// as dimensions are called. Not part of the public surface of compiler/plan.
#pragma once

#include <functional>
#include <vector>

#include "compiler/plan/hosting.h"

namespace coda {

/// The dimensions of a value's tensor in order, or nothing where it has none yet.
using KeptOrder = std::function<const std::vector<NamedDim>*(NodeId)>;

std::vector<NamedDim> memory_order(const Algebra& algebra, const Program& block, const Hosting& hosting, NodeId value,
                                   const KeptOrder& kept);

}  // namespace coda
