// Random blocks, planned and run kernel by kernel, mean what they say. A failure is shrunk and printed with its seed.
#include <catch2/catch.hpp>

#include "../elaborate/compile.h"
#include "compiler/plan/plan.h"
#include "dsl/diagnostics.h"
#include "execute.h"
#include "shape.h"
#include "stepwise_block.h"

namespace coda::test {

namespace {

constexpr uint32_t kBlocks = 2000;
constexpr double kAllowed = 1e-4;  // kernels leave f32 between them; a wrong plan is off by far more

/// What is wrong with a block's plan; empty if nothing is.
std::string wrong(const StepwiseBlock& block, uint32_t seed) {
  const Compiled compiled = compile(block.text());
  if (!compiled.program) return "does not compile: " + compiled.diagnostics;
  SourceMap sources;
  Diagnostics diagnostics(sources);
  Plan plan;
  if (!plan_block(*compiled.program, {.sizes = block.hints, .effort = 4000}, plan, diagnostics)) {
    return "no plan: " + diagnostics.render_text();
  }
  if (const std::string odd = odd_kernel(plan); !odd.empty()) return odd + "\n" + to_text(plan);
  const Meaning source = interpret_source(*compiled.program, block.sizes, seed);
  const Meaning planned = interpret_plan(*compiled.program, plan, block.sizes, seed);
  if (!source.failure.empty() || !planned.failure.empty())
    return source.failure + planned.failure + "\n" + to_text(plan);
  std::string where;
  const double worst = difference(source, planned, &where);
  if (worst <= kAllowed) return "";
  return where + " differs by " + std::to_string(worst) + "\n" + to_text(plan);
}

StepwiseBlock shrunk(StepwiseBlock block, uint32_t seed) {
  for (bool smaller = true; smaller;) {
    smaller = false;
    for (size_t i = 0; i < block.steps.size() && !smaller; ++i) {
      StepwiseBlock less = block;
      less.steps.erase(less.steps.begin() + static_cast<ptrdiff_t>(i));
      if (less.steps.empty() || wrong(less, seed).empty()) continue;
      block = less;
      smaller = true;
    }
    for (uint32_t bit = 1; bit < 5 && !smaller; ++bit) {
      StepwiseBlock less = block;
      less.outputs &= ~(1u << bit);
      if (less.outputs == block.outputs || wrong(less, seed).empty()) continue;
      block = less;
      smaller = true;
    }
  }
  return block;
}

}  // namespace

TEST_CASE("random blocks run kernel by kernel as they are written", "[property]") {
  int failures = 0;
  for (uint32_t seed = 1; seed <= kBlocks && failures < 3; ++seed) {
    const StepwiseBlock block = stepwise_block(seed);
    if (wrong(block, seed).empty()) continue;
    ++failures;
    const StepwiseBlock least = shrunk(block, seed);
    FAIL_CHECK("seed " << seed << ":\n" << least.text() << "\n" << wrong(least, seed));
  }
}

}  // namespace coda::test
