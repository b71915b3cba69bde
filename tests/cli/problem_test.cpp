// What --verify allows for sums that tensor cores keep with few bits.
#include "tools/codac/problem.h"

#include <catch2/catch.hpp>
#include <cmath>

using namespace coda;

namespace {

double roundoff(const std::string& type, const std::string& schedule, int64_t depth, const std::string& target) {
  CompileRequest request;
  request.path = "k.coda";
  request.text = "kernel k(x: " + type + "[M, K], w: " + type + "[N, K]) -> (y: bf16[M, N])" + schedule +
                 " {\n    y = x @ w.T\n}\n";
  request.target = target;
  request.stage = Stage::Lower;
  const Bindings dims = {{"M", 16}, {"N", 16}, {"K", depth}};
  request.bindings = dims;
  const Compilation compilation = compile(request);
  INFO(compilation.diagnostics->render_text());
  REQUIRE(compilation.epilogue);
  return problem_of(compilation, dims, target).kept_roundings.back();
}

}  // namespace

TEST_CASE("sums of 8-bit products are allowed an error on a GPU, and more where they are not promoted") {
  const std::string fast = "\nschedule { promote = 0 }";
  CHECK(roundoff("bf16", "", 4096, "sm_90a") == 0);
  CHECK(roundoff("e4m3", "", 4096, "host") == 0);
  CHECK(roundoff("e4m3", "", 4096, "sm_90a") == std::ldexp(1, -12));
  CHECK(roundoff("e4m3", "", 64, "sm_90a") == std::ldexp(1, -12));
  CHECK(roundoff("e4m3", fast, 64, "sm_90a") == std::ldexp(1, -12));
  CHECK(roundoff("e5m2", fast, 8192, "sm_90a") == std::ldexp(1, -9));  // the square root of 64 stages
}
