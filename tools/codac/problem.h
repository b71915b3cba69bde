// What running and checking a program needs to know of how it is computed, be it one kernel or the plan of a block.
#pragma once

#include <map>
#include <vector>

#include "runtime/jit/jit.h"

namespace coda {

struct Problem {
  std::map<int, int64_t> weights;  ///< parameters that are the second operand of a product, and its depth
  int64_t depth = 0;               ///< of all products that follow one another, in all
  double flops = 0;
  /// By parameter: the unit roundoffs of tensors kept between kernels on the way to it, along the worst path, and of
  /// sums that tensor cores keep with few bits.
  std::vector<double> kept_roundings;
  const Plan* plan = nullptr;  ///< of a block; the compilation's
};

/// For a compilation that has an epilogue or a plan, at these sizes, on `target`.
Problem problem_of(const Compilation& compilation, const Bindings& dims, const std::string& target = "host");

}  // namespace coda
