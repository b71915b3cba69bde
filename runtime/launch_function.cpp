#include "runtime/launch_function.h"

namespace coda {

Status launch_function(const Driver& cu, CuFunction function, const LaunchShape& shape, CuStream stream,
                       void** parameters, bool dependent) {
  if (!dependent || !cu.cuLaunchKernelEx.exists()) {
    return cu.cuLaunchKernel(function, shape.grid, 1, 1, shape.threads, 1, 1, shape.shared_bytes, stream, parameters,
                             nullptr);
  }
  CuLaunchAttribute attribute{kCuLaunchProgrammatic, {}, {}};
  attribute.value.programmatic_stream_serialization = 1;
  const CuLaunchConfig config{shape.grid, 1, 1, shape.threads, 1, 1, shape.shared_bytes, stream, &attribute, 1};
  return cu.cuLaunchKernelEx(&config, function, parameters, nullptr);
}

}  // namespace coda
