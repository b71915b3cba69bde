// A plan, kernel by kernel through the reference evaluator, against the program it was made of.
#pragma once

#include "compiler/plan/interpret.h"

namespace coda::test {

/// Outputs by name, row-major in declared order.
using Outputs = std::map<std::string, std::vector<double>>;

/// The block itself, and its plan, on the same seeded inputs; they fail the test where they can't be run.
Outputs run_source(const Program& block, const Bindings& sizes, uint32_t seed);
Outputs run_plan(const Program& block, const Plan& plan, const Bindings& sizes, uint32_t seed);

/// The largest difference relative to the largest value of each output.
double worst_error(const Outputs& a, const Outputs& b);
double worst_error(const Program& block, const Plan& plan, const Bindings& sizes, uint32_t seed);

}  // namespace coda::test
