// Kernels of a plan whose outputs one kernel can't hold together, such as statistics over different parts of the rows,
// become several. Whether one can is asked of the lowering itself.
#pragma once

#include "compiler/plan/plan.h"

namespace coda {

struct MachineModel;

/// A kernel that no division helps stays as it is.
void split_kernels(const MachineModel& machine, Plan& plan);

}  // namespace coda
