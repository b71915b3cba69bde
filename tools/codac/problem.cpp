#include "tools/codac/problem.h"

#include <algorithm>
#include <cmath>

#include "compiler/epilogue/summary.h"

namespace coda {
namespace {

/// How many elements the longest sum has: the depth, or the longest statistic of a pass over rows; 0 if one is of
/// nothing.
int64_t summed_elements(const EpilogueProgram& epilogue, const Bindings& dims) {
  int64_t most = epilogue.is_rowwise() ? 1 : epilogue.depth.evaluate(dims).value_or(0);
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
  if (epilogue.b.param >= 0) problem.weights[arguments[static_cast<size_t>(epilogue.b.param)]] = depth;
}

double unit_roundoff(DType dtype) {
  const DTypeInfo& type = info(dtype);
  const bool rounds = type.num_class == NumClass::Real && type.bits <= 16;
  return rounds ? std::ldexp(1.0, -type.mantissa_bits - 1) : 0;
}

}  // namespace

Problem problem_of(const Compilation& compilation, const Bindings& dims) {
  Problem problem;
  const size_t params = compilation.program->params.size();
  problem.kept_roundings.assign(params, 0);
  if (!compilation.plan) {
    std::vector<int> same;
    for (size_t p = 0; p < params; ++p) same.push_back(static_cast<int>(p));
    add_kernel(*compilation.epilogue, same, dims, problem);
    return problem;
  }
  const Plan& plan = *compilation.plan;
  problem.plan = &plan;
  std::vector<double> before(plan.tensors.size()), after(plan.tensors.size());  // without and with its own rounding
  for (size_t k = 0; k < plan.kernels.size(); ++k) {
    const PlanKernel& kernel = plan.kernels[k];
    add_kernel(*compilation.kernels[k].epilogue, kernel.arguments, dims, problem);
    double incoming = 0;
    for (size_t i = 0; i < kernel.arguments.size(); ++i) {
      if (kernel.program.params[i].role == Param::Role::Out) continue;
      incoming = std::max(incoming, after[static_cast<size_t>(kernel.arguments[i])]);
    }
    for (const auto& output : kernel.program.outputs) {
      const auto tensor = static_cast<size_t>(kernel.arguments[static_cast<size_t>(output.param)]);
      before[tensor] = incoming;
      after[tensor] = incoming + unit_roundoff(plan.tensors[tensor].dtype);
    }
  }
  for (size_t p = 0; p < params; ++p) problem.kept_roundings[p] = before[p];
  return problem;
}

}  // namespace coda
