// Row-wise kernels of a plan that can be one: a pass that reads what another writes, or the same tensors, over the same
// rows. Whether one kernel can hold both is asked of the lowering itself.
#pragma once

#include "compiler/plan/plan.h"

namespace coda {

class SizeHints;

/// Merges until nothing merges; gives what was done, as uses of the law.
std::vector<LawUse> merge_passes(const Program& block, const SizeHints& sizes, const MachineModel& machine, Plan& plan);

}  // namespace coda
