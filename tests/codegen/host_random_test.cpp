// Random kernels, each run at random sizes and strides beside the reference; a failing one is made small before it is
// shown.
#include <catch2/catch.hpp>
#include <cstdlib>

#include "host_case.h"
#include "random_kernel.h"

using namespace coda;
using namespace coda::test;

namespace {

/// CODA_RANDOM_KERNELS=FIRST:COUNT runs others than the usual ones.
std::pair<unsigned, unsigned> chosen_seeds() {
  const char* text = std::getenv("CODA_RANDOM_KERNELS");
  if (!text) return {1, 60};
  char* end = nullptr;
  const auto first = static_cast<unsigned>(std::strtoul(text, &end, 10));
  return {first, *end == ':' ? static_cast<unsigned>(std::strtoul(end + 1, nullptr, 10)) : 1};
}

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
  const auto [first, count] = chosen_seeds();
  for (unsigned seed = first; seed < first + count; ++seed) {
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
