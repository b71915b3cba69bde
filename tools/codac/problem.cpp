#include "tools/codac/problem.h"

#include <algorithm>
#include <cmath>

#include "compiler/epilogue/summary.h"

namespace coda {
namespace {

/// How many elements the longest sum has: the depth, or the longest statistic of a pass over rows; 0 if one is of
/// nothing.
int64_t summed_elements(const EpilogueProgram& epilogue, const Bindings& dims) {
  int64_t most = epilogue.is_rowwise() ? 1 : epilogue.total_depth().evaluate(dims).value_or(0);
  for (const Statistic& statistic : epilogue.statistics) {
    const int64_t count = statistic.count.evaluate(dims).value_or(0);
    if (count == 0) return 0;
    if (epilogue.is_rowwise()) most = std::max(most, count);
  }
  return most;
}

/// `arguments`: where the kernel's parameters are among the program's and, beyond those, the plan's tensors.
void add_kernel(const EpilogueProgram& epilogue, const std::vector<int>& arguments, const Bindings& dims,
                Problem& problem) {
  const int64_t depth = std::max<int64_t>(summed_elements(epilogue, dims), 0);
  problem.depth += depth;
  problem.flops += static_cast<double>(summarise(epilogue).flops.evaluate(dims).value_or(0));
  if (epilogue.is_rowwise()) return;
  for (const GemmTerm& term : epilogue.terms()) {
    problem.weights[arguments[static_cast<size_t>(term.b.param)]] = term.depth.evaluate(dims).value_or(0);
  }
}

/// Tensor cores keep 13 bits behind the point when they sum products of 8-bit floats: products much smaller than the
/// sum lose some of theirs. As the roundoff of one more rounding of what is summed; see docs/numerics.md.
double narrow_sum_roundoff(const EpilogueProgram& epilogue, const Bindings& dims, const std::string& target) {
  if (epilogue.is_rowwise() || target == "host") return 0;
  if (info(epilogue.operand_dtype(epilogue.a)).bits > 8) return 0;
  constexpr double kStage = 128;  // summed before they are promoted
  double summed = kStage;
  for (const auto& [name, value] : epilogue.program.schedule) {
    if (name == "promote" && value == 0)
      summed = static_cast<double>(epilogue.total_depth().evaluate(dims).value_or(0));
  }
  return 0x1p-12 * std::sqrt(std::max(1.0, summed / kStage));
}

double unit_roundoff(DType dtype) {
  const DTypeInfo& type = info(dtype);
  const bool rounds = type.num_class == NumClass::Real && type.bits <= 16;
  return rounds ? std::ldexp(1.0, -type.mantissa_bits - 1) : 0;
}

}  // namespace

Problem problem_of(const Compilation& compilation, const Bindings& dims, const std::string& target) {
  Problem problem;
  const size_t params = compilation.program->params.size();
  problem.kept_roundings.assign(params, 0);
  if (!compilation.plan) {
    std::vector<int> same;
    for (size_t p = 0; p < params; ++p) same.push_back(static_cast<int>(p));
    add_kernel(*compilation.epilogue, same, dims, problem);
    problem.kept_roundings.assign(params, narrow_sum_roundoff(*compilation.epilogue, dims, target));
    return problem;
  }
  const Plan& plan = *compilation.plan;
  problem.plan = &plan;
  std::vector<double> before(plan.tensors.size()), after(plan.tensors.size());  // without and with its own rounding
  for (size_t k = 0; k < plan.kernels.size(); ++k) {
    const PlanKernel& kernel = plan.kernels[k];
    add_kernel(*compilation.kernels[k].epilogue, kernel.arguments, dims, problem);
    double incoming = 0, sum = narrow_sum_roundoff(*compilation.kernels[k].epilogue, dims, target);
    for (size_t i = 0; i < kernel.arguments.size(); ++i) {
      if (kernel.program.params[i].role == Param::Role::Out) continue;
      incoming = std::max(incoming, after[static_cast<size_t>(kernel.arguments[i])]);
    }
    for (const auto& output : kernel.program.outputs) {
      const auto tensor = static_cast<size_t>(kernel.arguments[static_cast<size_t>(output.param)]);
      before[tensor] = incoming + sum;
      after[tensor] = before[tensor] + unit_roundoff(plan.tensors[tensor].dtype);
    }
  }
  for (size_t p = 0; p < params; ++p) problem.kept_roundings[p] = before[p];
  return problem;
}

}  // namespace coda
