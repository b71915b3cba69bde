// Runs kernels of PTX on the CPU, exactly as the text says, and checks more than hardware does.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tests/ptx/emulator/code.h"
#include "tests/ptx/emulator/global_memory.h"

namespace coda::ptx {

/// The module, or what is wrong with the text.
struct Parsed {
  std::unique_ptr<Module> module;
  std::string wrong;
};
Parsed parse(std::string_view text);

struct Launch {
  unsigned grid = 1, threads = 1;
  uint32_t dynamic_shared = 0;
  unsigned sms = 1;
  std::vector<uint8_t> parameters;                                 ///< laid out as Kernel::parameters says
  uint64_t most_instructions = uint64_t{20} * 1000 * 1000 * 1000;  ///< then the kernel counts as one that never ends
};

struct Ran {
  std::string wrong;          ///< empty, or the first fault
  uint64_t instructions = 0;  ///< a warp's as one
};
/// Runs the grid, cluster after cluster.
Ran run(const Kernel& kernel, const Launch& launch, GlobalMemory& global);

}  // namespace coda::ptx
