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
  std::map<std::string, double> overrides;  ///< of the schedule; a case that is refused for them is no failure
};

/// Runs all, several at once, prints a tally with what was wrong, and checks that nothing was.
void run_gpu_cases(const std::vector<GpuCase>& cases);

/// Sizes whose rows tensor maps can address: multiples of 16 but for the named symbols.
Bindings aligned_sizes(Bindings sizes, const std::vector<std::string>& but = {});

/// Inputs of whole numbers, whose products are exact: what compares them then has one answer.
std::vector<std::string> whole_inputs(const std::string& text, const Bindings& bound, unsigned seed);

/// The symbols of a program's parameters that have no value yet; empty if it isn't well-formed.
std::vector<std::string> open_symbols(const std::string& text, const Bindings& bound, const std::string& routine = "");

}  // namespace coda::testing
