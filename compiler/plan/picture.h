// The picture of a plan: kernels in order from top to bottom, what they read from the left, what they write to the
// right, and a line for each tensor that lives between kernels.
#pragma once

#include <string>

#include "compiler/plan/report.h"

namespace coda {

/// One <svg> element.
std::string plan_svg(const Plan& plan, const PlanContext& context);

}  // namespace coda
