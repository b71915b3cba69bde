// The derivatives that op and reduction records state as expressions of the language, compiled once and set in where a
// gradient needs them.
#pragma once

#include <span>

#include "compiler/grad/simplify.h"

namespace coda {

/// What operand `operand` of `result = op(args)` gets of the result's gradient, before sums over dimensions that the
/// operand lacks; kNoNode if nothing flows.
NodeId op_gradient(Simplifier& make, const Op& op, std::span<const NodeId> args, int operand, NodeId result,
                   NodeId gradient);

/// What the elements `x`, reduced over `over` to `result`, get of its gradient; kNoNode if nothing flows. Where several
/// elements decide (the greatest, twice), the first one gets it, by the order of the dimensions' names.
NodeId reduction_gradient(Simplifier& make, const Reduction& reduction, NodeId x, const std::vector<NamedDim>& over,
                          NodeId result, NodeId gradient);

}  // namespace coda
