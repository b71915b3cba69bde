// Random kernels without a product, each run at random sizes and strides beside the reference, and made into code for
// sm_90a too.
#include <catch2/catch.hpp>

#include "compiler/codegen/sm90.h"
#include "dsl/diagnostics.h"
#include "host_case.h"
#include "random_rowwise.h"
#include "sm90_programs.h"

using namespace coda;
using namespace coda::test;

TEST_CASE("host: random kernels without a product", "[host][rowwise]") {
  for (unsigned seed = 1; seed <= 60; ++seed) {
    const RandomRowwise kernel = random_rowwise(seed);
    INFO("seed " << seed);
    const HostProgram program = compile_for_host(kernel.text, kernel.bound);
    HostRun run{.sizes = kernel.sizes, .threads = static_cast<int>(1 + seed % 3), .ulps = 400};
    run_and_check(program, run);
    run.pitch = kernel.pitch;
    run.last_stride = kernel.last_stride;
    run_and_check(program, run);
  }
}

TEST_CASE("sm90: random kernels without a product have code", "[sm90][rowwise]") {
  for (unsigned seed = 1; seed <= 60; ++seed) {
    const RandomRowwise kernel = random_rowwise(seed);
    INFO("seed " << seed << "\n" << kernel.text);
    std::string report;
    const auto epilogue = lower_text({"random", kernel.text, kernel.bound}, report);
    INFO(report);
    REQUIRE(epilogue);
    SourceMap sources;
    sources.add("random.coda", kernel.text);  // what may be reported is in it
    Diagnostics diagnostics(sources);
    Sm90Options options;
    if (seed % 2 == 0) options.columns = kernel.columns;
    const auto result = compile_sm90(*epilogue, options, diagnostics);
    INFO(diagnostics.render_text());
    CHECK(result);
  }
}
