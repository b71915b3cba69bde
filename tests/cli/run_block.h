// Compiles a program for the host, runs it on random inputs, and compares every element with the f64 reference.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime/jit/jit.h"

namespace coda::testing {

struct BlockRun {
  bool compiled = false;  ///< false: `message` holds the diagnostics
  bool right = false;     ///< equal to the reference within the derived bounds, twice the same bits
  int kernels = 0;
  std::string message;
};

struct BlockOptions {
  uint64_t seed = 1;
  double slack = 1;                 ///< as for `codac run --verify`
  Bindings planned_for = {};        ///< other sizes, that the plan is made for
  std::string routine = {};         ///< which of several
  std::vector<std::string> inputs;  ///< as for `codac run --input`: "x=normal(0, 2)"
  std::string target = "host", schedule = {};
  std::map<std::string, double> overrides = {};  ///< of the schedule
  double apart = 1e-4;                           ///< of plan and source in f64; more where casts may fall otherwise
  Bindings bound = {};                           ///< the only sizes to compile for; empty: all of them
};

/// `dims`: of every symbol that facts don't give.
BlockRun run_block(const std::string& text, const Bindings& dims, const BlockOptions& options);
BlockRun run_block(const std::string& text, const Bindings& dims, uint64_t seed, double slack = 1);
/// Compiled once, for the sizes that `options` binds, and run at each of several.
std::vector<BlockRun> run_at_sizes(const std::string& text, const std::vector<Bindings>& sizes,
                                   const BlockOptions& options);

}  // namespace coda::testing
