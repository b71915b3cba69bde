// What is kept between kernels, as a minimum cut between accumulators and the values later kernels need, and what each
// kernel then loads, stores and costs.
#pragma once

#include "compiler/plan/hosting.h"

namespace coda {

struct KernelTraffic {
  std::vector<NodeId> loads;       ///< wide values read by the epilogue: parameters and stored tensors
  std::vector<NodeId> stores;      ///< wide values written
  std::vector<NodeId> statistics;  ///< reductions hosted here that others use
  std::vector<NodeId> light;       ///< light values used here
  std::vector<NodeId> computed;    ///< wide values computed here
  double bytes = 0, flops = 0, seconds = 0;
};

struct CostedPlan {
  std::vector<KernelTraffic> traffic;  ///< one a kernel of the hosting
  double bytes = 0, flops = 0, seconds = 0;
};

/// Adds what must be stored to `hosting.stored` and counts.
CostedPlan settle_storage(Algebra& algebra, const Program& block, Hosting& hosting, const MachineModel& machine);

}  // namespace coda
