// Random kernels, each run at random sizes and strides beside the reference. CODA_FUZZ_CHUNK=n runs the n-th chunk of
// seeds instead of the first, so that runs over time cover many; a failing kernel is made small before it is shown.
#include <catch2/catch.hpp>
#include <cstdlib>

#include "host_case.h"
#include "random_kernel.h"

using namespace coda;
using namespace coda::test;

namespace {

constexpr unsigned kChunk = 60;

std::string failure(const RandomKernel& kernel, unsigned seed) {
  HostProgram program;
  if (std::string wrong = compile_error(kernel.to_text(), kernel.bound, program); !wrong.empty()) return wrong;
  HostResult result;
  HostRun run{.sizes = kernel.sizes, .threads = static_cast<int>(1 + seed % 3), .ulps = 400};
  run.scalars["seed"] = seed;
  if (std::string wrong = difference(program, run, result); !wrong.empty()) return wrong;
  run.pitch = seed / 3 % 4;
  run.last_stride = 1 + seed / 12 % 2;
  return difference(program, run, result);
}

}  // namespace

TEST_CASE("host: random kernels", "[host][random]") {
  const char* chunk = std::getenv("CODA_FUZZ_CHUNK");
  const unsigned first = 1 + kChunk * (chunk == nullptr ? 0 : static_cast<unsigned>(std::atoi(chunk)));
  for (unsigned seed = first; seed < first + kChunk; ++seed) {
    const RandomKernel kernel = random_kernel(seed);
    if (failure(kernel, seed).empty()) {
      SUCCEED();
      continue;
    }
    const RandomKernel small = smallest(kernel, [&](const RandomKernel& k) { return !failure(k, seed).empty(); });
    std::string where;
    for (const auto& [name, value] : small.sizes) where += name + "=" + std::to_string(value) + " ";
    FAIL_CHECK("seed " << seed << " at " << where << "\n" << small.to_text() << failure(small, seed));
  }
}

TEST_CASE("a failing random kernel is made small") {
  const RandomKernel kernel = random_kernel(7);
  const auto has_sum = [](const RandomKernel& k) { return k.to_text().find("+ ") != std::string::npos; };
  REQUIRE(has_sum(kernel));
  const RandomKernel small = smallest(kernel, has_sum);
  CHECK(small.stores.size() == 1);
  CHECK(small.to_text().size() < kernel.to_text().size());
  for (const auto& [name, value] : small.sizes) CHECK(value <= 1);
}
