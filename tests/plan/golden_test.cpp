// Goldens of plans at the sizes people run, and of what can't be planned (fail_*). A first line `// plan: without =
// LAW`, `effort = N` or `law = wrong` sets options.
#include "tests/golden.h"

#include <cmath>
#include <cstdio>

#include "../elaborate/compile.h"
#include "compiler/plan/report.h"
#include "compiler/rewrite/context.h"
#include "dsl/parser.h"
#include "shape.h"

namespace coda::test {

namespace {

/// exp(x) = x: what a check of meanings must find.
std::vector<Alternative> wrong_alternatives(LawContext& context, NodeId id) {
  const Node& node = context.algebra.graph()[id];
  if (node.kind != NodeKind::Apply || node.op != find_op("exp")) return {};
  return {{node.args[0], {}}};
}
const Law kWrong{.name = "wrong",
                 .equation = "exp(x) = x",
                 .conditions = "none",
                 .kind = LawKind::Directed,
                 .exactness = Exactness::Reals,
                 .random_case = nullptr,
                 .alternatives = wrong_alternatives};

PlanOptions options_of(const std::string& text) {
  PlanOptions options{
      .sizes = {{"T", 8192}, {"D", 4096}, {"A", 4096}, {"F", 14336}, {"N", 6144}, {"Hq", 32}, {"V", 32064}},
      .verify = true};
  const std::string start = "// plan: ";
  if (!text.starts_with(start)) return options;
  const std::string line = text.substr(start.size(), text.find('\n') - start.size());
  const std::string key = line.substr(0, line.find(" = ")), value = line.substr(line.find(" = ") + 3);
  if (key == "without") options.drop_law = value;
  if (key == "effort") options.effort = std::stoi(value);
  if (key == "law") options.more_laws = {&kWrong};
  return options;
}

}  // namespace

TEST_CASE("goldens of plans", "[golden]") {
  golden::check_folder("tests/plan/golden", [](const std::string& name, const std::string& text) -> std::string {
    SourceMap sources;
    Diagnostics diagnostics(sources);
    const FileId file = sources.add(name, text);
    const auto module = parse(file, sources, diagnostics);
    if (!module) return diagnostics.render_text();
    const auto program = elaborate(*module, file, sources, {}, diagnostics);
    Plan plan;
    const PlanOptions options = options_of(text);
    const bool planned = program && plan_block(*program, options, plan, diagnostics);
    CHECK(planned != name.starts_with("fail_"));
    return (planned ? to_text(plan, {sources, options}) : "") + diagnostics.render_text();
  });
}

TEST_CASE("which plan without which law", "[golden]") {
  golden::check_folder("tests/plan/ablation", [](const std::string& name, const std::string& text) -> std::string {
    SourceMap sources;
    Diagnostics diagnostics(sources);
    const FileId file = sources.add(name, text);
    const auto module = parse(file, sources, diagnostics);
    const auto program = module ? elaborate(*module, file, sources, {}, diagnostics) : std::nullopt;
    REQUIRE(program);
    PlanOptions options = options_of(text);
    Plan full;
    REQUIRE(plan_block(*program, options, full, diagnostics));
    CHECK(odd_kernel(full) == "");
    const auto line = [](const std::string& what, const Plan& plan) {
      char seconds[32];
      std::snprintf(seconds, sizeof seconds, "%.0f us", plan.seconds * 1e6);
      return what + ": " + shape_text(plan) + ", " + seconds + "\n";
    };
    std::string table = line("all laws", full);
    for (const PlanKernel& kernel : full.kernels) {
      if (kernel.kind != KernelKind::Gemm) table += "  " + kernel.program.name + ": " + own_pass_text(kernel) + "\n";
    }
    for (const Law* law : law_table()) {
      if (!law->inherent.empty()) continue;
      options.drop_law = std::string(law->name);
      options.verify = false;
      Plan less;
      if (!plan_block(*program, options, less, diagnostics)) {
        table += "without " + options.drop_law + ": no plan\n";
        continue;
      }
      CHECK(odd_kernel(less) == "");
      if (shape_of(less) == shape_of(full) && std::abs(less.seconds - full.seconds) < 5e-7) continue;
      table += line("without " + std::string(law->name), less);
    }
    return table;
  });
}

TEST_CASE("every diagnostic of plans has a golden", "[golden]") {
  CHECK(golden::ids_without_golden("E036") == std::vector<std::string>{});
}

}  // namespace coda::test
