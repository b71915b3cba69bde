// Random kernels for sm_90a: each is generated, or refused with a reason that the table of diagnostics has. What they
// compute is compared on the host (host_random_test.cpp) and by the GPU's checks.
#include <catch2/catch.hpp>
#include <set>

#include "compiler/codegen/sm90.h"
#include "dsl/diagnostics.h"
#include "random_kernel.h"
#include "sm90_programs.h"

namespace coda::test {

TEST_CASE("sm90: random kernels are generated, or refused for a reason", "[sm90][random]") {
  int generated = 0, tried = 0;
  for (unsigned seed = 1; seed <= 16; ++seed) {
    const RandomKernel kernel = random_kernel(seed);
    INFO("seed " << seed << "\n" << kernel.to_text());
    std::string report;
    const auto epilogue = lower_text({"random", kernel.to_text(), kernel.bound}, report);
    INFO(report);
    REQUIRE(epilogue);
    SourceMap sources;
    Diagnostics diagnostics(sources);
    const auto result = compile_sm90(*epilogue, {}, diagnostics);
    static const std::set<DiagId> kReasons = {DiagId::E0404, DiagId::E0405, DiagId::E0502};
    for (const Diagnostic& diagnostic : diagnostics.all()) {
      UNSCOPED_INFO(diagnostic.message);
      CHECK(kReasons.contains(diagnostic.id));
    }
    CHECK(result.has_value() != diagnostics.has_errors());
    const bool wide = epilogue->operand_dtype(epilogue->a) == DType::F32;
    tried += !wide;
    generated += result.has_value();
  }
  CHECK(generated * 2 > tried);
}

}  // namespace coda::test
