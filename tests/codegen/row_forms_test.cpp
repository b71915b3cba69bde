// Every combination of one to three row dimensions, one or two summed ones and the operands' layouts: on the host
// beside the reference; for sm_90a each row of a thread's must be read for itself.
#include "row_forms.h"

#include <catch2/catch.hpp>
#include <sstream>

#include "compiler/codegen/sm90.h"
#include "dsl/diagnostics.h"
#include "host_case.h"
#include "sm90_programs.h"

namespace coda::test {
namespace {

/// Reads of global memory in a kernel that adds a tile, where rows have these dimensions.
int loads(const std::string& rows) {
  const std::string text = "kernel f(x: bf16[" + rows + ", K], w: bf16[N, K], t: bf16[" + rows + ", N]) -> (y: bf16[" +
                           rows + ", N]) {\n    y = t + x @ w.T\n}\n";
  std::string report;
  const auto epilogue = lower_text({"tile", text, {}}, report);
  INFO(text << report);
  REQUIRE(epilogue);
  SourceMap sources;
  Diagnostics diagnostics(sources);
  Sm90Options options;
  options.schedule = "64x64";
  const auto result = compile_sm90(*epilogue, options, diagnostics);
  INFO(diagnostics.render_text());
  REQUIRE(result);
  std::istringstream lines(result->ptx);
  int count = 0;
  for (std::string line; std::getline(lines, line);) count += line.find("ld.global") != std::string::npos;
  return count;
}

}  // namespace

TEST_CASE("host: row and summed dimensions in every layout", "[host]") {
  for (const RowForm& form : row_forms()) {
    const HostProgram program = compile_for_host(form.text);
    for (const Bindings& sizes : form.sizes) run_and_check(program, {.sizes = sizes, .pitch = 1});
  }
}

TEST_CASE("sm90: a tile's elements are read for each row, however many dimensions rows have", "[sm90][rows]") {
  const int of_one = loads("S");
  CHECK(of_one > 8);
  CHECK(loads("B, S") == of_one);
  CHECK(loads("A, B, S") == of_one);
}

}  // namespace coda::test
