// Programs run on a GPU, or on the emulated one, beside the reference: for hidden tests [.gpu].
//
// CODA_GPU_TARGET=host tries the tests themselves on the CPU; CODA_GPU_SECONDS says after how long no more is begun;
// CODA_GPU_ONLY names a part of the names of cases; CODA_GPU_PART=I/N takes every Nth case.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime/format/dim.h"

namespace coda::testing {

struct GpuCase {
  std::string name, text;
  Bindings bound;               ///< symbols that the structure needs
  std::vector<Bindings> sizes;  ///< runs of the one compiled program
  std::vector<std::string> inputs;
  std::string schedule;  ///< by its name; empty: the compiler's choice
  std::string routine;
  double slack = 1;
  double apart = 1e-4;                      ///< of a block's plan and its source, see BlockOptions
  std::map<std::string, double> overrides;  ///< of the schedule; a case that is refused for them is no failure
};

/// Runs all, several at once, prints a tally with what was wrong, and checks that nothing was.
void run_gpu_cases(const std::vector<GpuCase>& cases);

}  // namespace coda::testing
