// Compiles a program for the host, runs it on random inputs, and compares every element with the f64 reference.
#pragma once

#include <string>

#include "runtime/jit/jit.h"

namespace coda::testing {

struct BlockRun {
  bool compiled = false;  ///< false: `message` holds the diagnostics
  bool right = false;     ///< equal to the reference within the derived bounds, twice the same bits
  int kernels = 0;
  std::string message;
};

/// `dims`: of every symbol that facts don't give. `slack` as for `codac run --verify`.
BlockRun run_block(const std::string& text, const Bindings& dims, uint64_t seed, double slack = 1);

}  // namespace coda::testing
