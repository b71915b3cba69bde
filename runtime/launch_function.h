// One kernel launch through the driver, if wanted as a dependent one.
//
// Programmatic dependent launch. A kernel launched with that attribute may start as soon as every CTA of the kernel in
// front of it, P, has executed griddepcontrol.launch_dependents or ended. Its own griddepcontrol.wait returns when P
// has ended and what P wrote can be seen. Why plans may use it:
//   * All threads of a dependent kernel that touch memory execute the wait, before their first write and before they
//     read anything that a kernel of the plan writes (the code generator's part); some do in every CTA.
//   * So a kernel ends only after its own wait has returned, that is after the kernel in front of it has ended; by
//     induction, when the wait of kernel n returns, kernels 1 to n-1 have ended and their writes can be seen, also
//     those two or more in front. Behind the wait everything is as if launches were serialised: what is written there
//     can meet no reader of a workspace's former contents, no reader or writer of a tensor that is updated in place.
//   * In front of the wait a kernel reads only parameters that no kernel of the plan writes (caller's tensors that are
//     inputs, none of which may overlap an output: LaunchPlan::check_overlap; and what is made of weights, for which
//     launches wait on the host). Kernels it may run beside are of the same launch of the plan, since the first kernel
//     of each launch is launched without the attribute and so begins when all before it has ended.
#pragma once

#include "runtime/driver.h"

namespace coda {

struct LaunchShape {
  unsigned grid = 1, threads = 1, shared_bytes = 0;
};

/// `dependent` is a permission: without it, or where the driver can't, the kernel waits for the one in front of it.
Status launch_function(const Driver& cu, CuFunction function, const LaunchShape& shape, CuStream stream,
                       void** parameters, bool dependent);

}  // namespace coda
