// How many kernels of which kind a plan has, and whether each is what its kind says.
#pragma once

#include <string>

#include "compiler/plan/plan.h"

namespace coda::test {

struct Shape {
  int gemms = 0, row_wise = 0, once = 0;
  bool operator==(const Shape&) const = default;
};

Shape shape_of(const Plan& plan);
/// "4+2", "4+0+1"
std::string shape_text(const Plan& plan);

/// A kernel that multiplies more or fewer matrices than its kind says, or is given a tensor twice; empty if none.
std::string odd_kernel(const Plan& plan);

}  // namespace coda::test
