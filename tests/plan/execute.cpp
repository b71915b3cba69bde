#include "execute.h"

#include <catch2/catch.hpp>

namespace coda::test {

Outputs run_source(const Program& block, const Bindings& sizes, uint32_t seed) {
  const Meaning meaning = interpret_source(block, sizes, seed);
  REQUIRE(meaning.failure == "");
  return meaning.outputs;
}

Outputs run_plan(const Program& block, const Plan& plan, const Bindings& sizes, uint32_t seed) {
  const Meaning meaning = interpret_plan(block, plan, sizes, seed);
  REQUIRE(meaning.failure == "");
  return meaning.outputs;
}

double worst_error(const Outputs& a, const Outputs& b) {
  REQUIRE(a.size() == b.size());
  return difference({a, ""}, {b, ""});
}

double worst_error(const Program& block, const Plan& plan, const Bindings& sizes, uint32_t seed) {
  return worst_error(run_source(block, sizes, seed), run_plan(block, plan, sizes, seed));
}

}  // namespace coda::test
