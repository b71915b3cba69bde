// Runs a plan kernel by kernel through the reference evaluator: a kernel sees only the tensors its program names.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/plan/plan.h"

namespace coda::test {

/// Outputs by name, row-major in declared order.
using Outputs = std::map<std::string, std::vector<double>>;

/// The block itself, and its plan, on the same seeded inputs. Intermediates are kept in f32.
Outputs run_source(const Program& block, const Bindings& sizes, uint32_t seed);
Outputs run_plan(const Program& block, const Plan& plan, const Bindings& sizes, uint32_t seed);

/// The largest difference relative to the largest value of each output.
double worst_error(const Outputs& a, const Outputs& b);

}  // namespace coda::test
