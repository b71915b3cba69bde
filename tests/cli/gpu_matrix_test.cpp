// Hidden: each op, each reduction in each place and each function of the prelude in an epilogue on a GPU, over the four
// layouts of operands in bf16, f16 and e4m3 and the schedules, beside the reference.
#include <catch2/catch.hpp>

#include "tests/cli/gpu_cases.h"
#include "tests/cli/gpu_sizes.h"
#include "tests/codegen/language_matrix.h"

namespace coda::testing {

TEST_CASE("the whole language in every layout on a GPU", "[.gpu]") {
  constexpr const char* kSchedules[] = {"64x64", "", "128x128", "16x64", "64x256"};
  std::vector<GpuCase> cases;
  for (const test::MatrixKernel& kernel : test::language_matrix()) {
    if (kernel.type == "f32") continue;  // a product of f32 is the host's
    std::vector<Bindings> sizes = kernel.sizes;
    sizes.push_back(aligned_sizes(sizes.back(), {"H", "F"}));
    cases.push_back({.name = kernel.name,
                     .text = kernel.text,
                     .bound = kernel.bound,
                     .sizes = sizes,
                     .inputs = whole_inputs(kernel.text, kernel.bound, 1, 16),
                     .schedule = kSchedules[cases.size() % std::size(kSchedules)]});
  }
  run_gpu_cases(cases);
}

}  // namespace coda::testing
