#include "tests/ptx/emulator/emulator.h"

#include "tests/ptx/emulator/cluster.h"
#include "tests/ptx/emulator/decoder.h"
#include "tests/ptx/emulator/fault.h"

namespace coda::ptx {

Parsed parse(std::string_view text) {
  try {
    return {std::make_unique<Module>(decode_module(text)), ""};
  } catch (const std::exception& error) {
    return {nullptr, error.what()};
  }
}

Ran run(const Kernel& kernel, const Launch& launch, GlobalMemory& global) {
  LaunchState state{kernel,
                    global,
                    launch.grid,
                    launch.threads,
                    launch.dynamic_shared,
                    launch.sms,
                    launch.parameters,
                    0,
                    launch.most_instructions};
  try {
    if (kernel.threads != 0 && launch.threads > kernel.threads) throw Fault("more threads than .maxntid says");
    if (launch.grid % kernel.cluster != 0) throw Fault("the grid is no multiple of the cluster");
    if (launch.parameters.size() != kernel.parameter_bytes) throw Fault("another number of bytes of parameters");
    for (unsigned number = 0; number < launch.grid / kernel.cluster; ++number) Cluster(state, number).run();
  } catch (const std::exception& error) {
    return {error.what(), state.instructions};
  }
  return {"", state.instructions};
}

}  // namespace coda::ptx
