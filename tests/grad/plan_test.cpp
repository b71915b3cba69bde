// What is derived can be planned: two products a product of the forward, and the plans compute what their blocks say.
#include "compiler/plan/plan.h"

#include <catch2/catch.hpp>

#include "../plan/execute.h"
#include "../plan/shape.h"
#include "cases.h"
#include "compiler/plan/report.h"
#include "tests/golden.h"

namespace coda::test {

namespace {

const Bindings kLarge{{"T", 8192}, {"D", 4096}, {"A", 4096}, {"F", 14336}, {"Hq", 32}, {"Hkv", 8}, {"Dh", 128}};

/// GEMMs of the plan, which computes what the block says. A backward alone can't be run on made-up inputs: what it
/// reads belongs together.
int planned_products(const Program& block, const Bindings& small, int most_passes, bool runs = true) {
  SourceMap sources;
  Diagnostics diagnostics(sources);
  Plan plan;
  const bool planned = plan_block(block, {.sizes = kLarge}, plan, diagnostics);
  INFO(diagnostics.render_text());
  REQUIRE(planned);
  INFO(to_text(plan));
  int gemms = 0, passes = 0;
  for (const PlanKernel& kernel : plan.kernels) {
    gemms += kernel.kind == KernelKind::Gemm;
    passes += kernel.kind == KernelKind::RowWise;
  }
  CHECK(passes <= most_passes);
  Bindings sizes = small;
  for (const auto& [name, value] : block.bound) sizes[name] = value;
  for (uint32_t seed = 1; seed <= 2 && runs; ++seed) {
    CHECK(worst_error(run_source(block, sizes, seed), run_plan(block, plan, sizes, seed)) < 1e-5);
  }
  return gemms;
}

}  // namespace

TEST_CASE("a gated block is planned as three products forward and six backward") {
  const Case mlp = mlp_case();
  const Gradient gradient = gradient_of(mlp.program);
  CHECK(planned_products(gradient.forward, mlp.sizes, 0) == 3);
  CHECK(planned_products(gradient.backward, mlp.sizes, 0, false) == 6);
  CHECK(planned_products(gradient.whole, mlp.sizes, 0) == 9);
}

TEST_CASE("a Llama layer is planned as four products forward and eight backward") {
  const Case llama = llama_case();
  const Gradient gradient = gradient_of(llama.program);
  CHECK(planned_products(gradient.forward, llama.sizes, 0) == 4);
  CHECK(planned_products(gradient.backward, llama.sizes, 2, false) == 8);  // d_cos and d_sin have a pass
  CHECK(planned_products(gradient.whole, llama.sizes, 2) == 12);
}

TEST_CASE("goldens of layers' backwards", "[golden]") {
  golden::check_folder("tests/grad/plans", [](const std::string& file, const std::string& text) {
    const std::string name = file.substr(0, file.find('.'));
    Bindings sizes = kLarge;
    sizes["N"] = 6144;
    std::string report;
    for (const DirectionInfo& direction : kDirections) {
      const Program block = program_of(text, name + std::string(direction.suffix));
      SourceMap sources;
      Diagnostics diagnostics(sources);
      Plan plan;
      REQUIRE(plan_block(block, {.sizes = sizes}, plan, diagnostics));
      CHECK(odd_kernel(plan) == "");
      report += block.name + ": " + shape_text(plan) + "\n";
      if (direction.direction != Direction::Whole) {
        report += to_text(plan);
        continue;
      }
      // Both in one plan: the forward's kernels, then the backward's, and what is kept between them.
      size_t forward = 0;
      while (forward < plan.kernels.size() && !plan.kernels[forward].late) ++forward;
      for (size_t k = forward; k < plan.kernels.size(); ++k) CHECK(plan.kernels[k].late);
      report += std::to_string(forward) + " kernels forward\n";
      const auto kept = kept_between_directions(plan);
      CHECK(!kept.empty());
      for (const KeptTensor& one : kept) {
        const PlanTensor& tensor = plan.tensors[static_cast<size_t>(one.tensor)];
        report += "kept " + tensor_text(tensor.name, tensor.dtype, tensor.dims) + ": " + one.why + "\n";
      }
    }
    return report;
  });
}

}  // namespace coda::test
