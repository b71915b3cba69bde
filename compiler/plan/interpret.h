// What a program and a plan of it mean on small random inputs, in f64: the check of every law and of every kernel. A
// kernel of a plan sees only the tensors that its program names.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/plan/plan.h"
#include "compiler/reference/reference.h"

namespace coda {

/// Outputs by name, row-major in declared order; or why there are none.
struct Meaning {
  std::map<std::string, std::vector<double>> outputs;
  std::string failure;
};

/// Values of real parameters lie in ±[0.25, 1.25): sums of squares stay away from 0.
Meaning interpret_source(const Program& block, const Bindings& sizes, uint32_t seed);
/// Kernel by kernel, in order; what kernels leave for others is kept in f32.
Meaning interpret_plan(const Program& block, const Plan& plan, const Bindings& sizes, uint32_t seed);

/// What kernels leave for others is kept in f32, or rounded to the type that the plan stores it in.
enum class Kept { F32, AsStored };
/// On inputs given, by parameter of the block. The outputs are not rounded.
Meaning interpret_plan(const Program& block, const Plan& plan, const Bindings& sizes,
                       const std::vector<ReferenceInput>& inputs, Kept kept);

/// The largest difference relative to the largest value of each output; `where` names the output. Infinite where one
/// side is finite and the other is not.
double difference(const Meaning& a, const Meaning& b, std::string* where = nullptr);

/// Whether a fact of a `where` clause holds at these sizes; not where one of its symbols has none.
bool fact_holds(const DimFact& fact, const Bindings& sizes);
/// Every extent, stride and offset that a program's parameters and values have: at sizes that fit, each is a number.
std::vector<Dim> extents_of(const Program& program);
/// Small extents for a program's free symbols that fulfil its facts; nothing if none are found.
std::optional<Bindings> small_sizes(const Program& block, uint32_t seed);

}  // namespace coda
