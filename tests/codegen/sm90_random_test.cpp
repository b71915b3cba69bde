// Random kernels for sm_90a: each is generated, or refused with a reason that the table of diagnostics has. What they
// compute is compared on the host (host_random_test.cpp) and by the GPU's checks. CODA_RANDOM_KERNELS=FIRST:COUNT tries
// others than the usual ones, and prints what they are refused for.
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <set>

#include "compiler/codegen/sm90.h"
#include "dsl/diagnostics.h"
#include "random_kernel.h"
#include "sm90_programs.h"

namespace coda::test {

TEST_CASE("sm90: random kernels are generated, or refused for a reason", "[sm90][random]") {
  unsigned first = 1, count = 16;
  const char* chosen = std::getenv("CODA_RANDOM_KERNELS");
  if (chosen) REQUIRE(std::sscanf(chosen, "%u:%u", &first, &count) == 2);
  int generated = 0, tried = 0;
  std::map<std::string, std::vector<unsigned>> refused;
  for (unsigned seed = first; seed < first + count; ++seed) {
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
    if (!wide && !result) refused[diagnostics.all().front().message].push_back(seed);
  }
  if (chosen) {
    std::printf("%d of %d have code\n", generated, tried);
    for (const auto& [reason, seeds] : refused) {
      std::printf("%zu, as %u: %s\n", seeds.size(), seeds.front(), reason.c_str());
    }
  }
  CHECK(generated * 10 >= tried * 9);
}

}  // namespace coda::test
