// Goldens of plans at the sizes people run, and of what can't be planned (fail_*).
#include "tests/golden.h"

#include "../elaborate/compile.h"
#include "compiler/plan/plan.h"
#include "dsl/parser.h"

namespace coda::test {

TEST_CASE("goldens of plans", "[golden]") {
  golden::check_folder("tests/plan/golden", [](const std::string& name, const std::string& text) -> std::string {
    SourceMap sources;
    Diagnostics diagnostics(sources);
    const FileId file = sources.add(name, text);
    const auto module = parse(file, sources, diagnostics);
    if (!module) return diagnostics.render_text();
    const auto program = elaborate(*module, file, sources, {}, diagnostics);
    Plan plan;
    const PlanOptions options{.sizes = {{"T", 8192}, {"D", 4096}, {"A", 4096}, {"F", 14336}, {"N", 6144}, {"Hq", 32}}};
    const bool planned = program && plan_block(*program, options, plan, diagnostics);
    CHECK(planned != name.starts_with("fail_"));
    return planned ? to_text(plan) : diagnostics.render_text();
  });
}

TEST_CASE("every diagnostic of plans has a golden", "[golden]") {
  CHECK(golden::ids_without_golden("E036") == std::vector<std::string>{});
}

}  // namespace coda::test
