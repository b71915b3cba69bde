// Printed programs compile by themselves and mean the same: every example, the prelude, each construct, and what is
// derived from them.
#include "compiler/print/print.h"

#include <catch2/catch.hpp>

#include "cases.h"
#include "compiler/ir/text.h"

namespace coda::test {

namespace {

void check_printed(const Program& program, const Bindings& sizes) {
  const std::string text = to_source(program);
  INFO(text << to_text(program));
  const Program again = program_of(text);
  REQUIRE(again.params.size() == program.params.size());
  for (const Param& param : program.params) {
    INFO(param.name);
    bool found = false;
    for (const Param& other : again.params) {
      if (other.name != param.name) continue;
      found = true;
      CHECK(other.role == param.role);
      CHECK(other.dtype == param.dtype);
      REQUIRE(other.dims.size() == param.dims.size());
      for (size_t i = 0; i < param.dims.size(); ++i) CHECK(other.dims[i].extent == param.dims[i].extent);
    }
    CHECK(found);
  }
  const Arrays values = made_up(program, sizes, 7);
  CHECK(difference(run(program, sizes, values), run(again, sizes, values)) < 1e-12);
}

void check_all(const std::vector<Case>& cases) {
  for (const Case& each : cases) {
    INFO(each.what);
    check_printed(each.program, each.sizes);
    const Gradient gradient = gradient_of(each.program, each.wrt);
    check_printed(gradient.forward, each.sizes);
    check_printed(gradient.backward, each.sizes);
    check_printed(gradient.whole, each.sizes);
  }
}

}  // namespace

TEST_CASE("every example is printed as it means, and so is its gradient") { check_all(example_cases()); }
TEST_CASE("every function of the prelude is printed as it means, and so is its gradient") {
  check_all(prelude_cases());
}
TEST_CASE("every construct is printed as it means, and so is its gradient") { check_all(language_cases()); }
TEST_CASE("a block is printed as it means, and so is its gradient") { check_all({llama_case(), mlp_case()}); }

}  // namespace coda::test
