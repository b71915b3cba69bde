// Random blocks, planned, compiled and run on the host, equal the f64 reference of their source.
#include <catch2/catch.hpp>
#include <cstdlib>

#include "tests/cli/run_block.h"
#include "tests/plan/random_block.h"

using namespace coda;
using namespace coda::testing;

namespace {

/// CODA_RANDOM_BLOCKS=FIRST:COUNT runs others than the usual ones.
std::pair<uint64_t, uint64_t> chosen_seeds() {
  const char* text = std::getenv("CODA_RANDOM_BLOCKS");
  if (!text) return {21, 100};
  char* end = nullptr;
  const uint64_t first = std::strtoull(text, &end, 10);
  return {first, *end == ':' ? std::strtoull(end + 1, nullptr, 10) : 1};
}

}  // namespace

TEST_CASE("random blocks are right on the host") {
  const auto [first, count] = chosen_seeds();
  int several = 0;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    const RandomBlock block = random_block(seed);
    const BlockRun run = run_block(block.text, block.dims, seed);
    INFO("seed " << seed << "\n" << block.text << run.message);
    CHECK(run.compiled);
    CHECK(run.right);
    several += run.kernels > 1;
  }
  CHECK(several * 5 >= static_cast<int>(count));
}
