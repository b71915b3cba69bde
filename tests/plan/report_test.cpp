// The JSON and the HTML page of a plan say what the plan says.
#include "compiler/plan/report.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "../elaborate/compile.h"
#include "compiler/elaborate/elaborate.h"
#include "compiler/epilogue/describe.h"
#include "compiler/plan/interpret.h"
#include "compiler/plan/picture_text.h"
#include "compiler/print/print.h"
#include "compiler/rewrite/law.h"
#include "dsl/diagnostics.h"
#include "dsl/parser.h"
#include "tests/golden.h"
#include "tests/source_root.h"

namespace coda::test {

namespace {

namespace fs = std::filesystem;

const char* const kText = R"(fn norm(x, gain) = x * rsqrt(mean(x * x, over = last(x)) + 1e-5) * gain
block mlp(x: bf16[T, D], attn: bf16[T, A], wo: bf16[D, A], g: bf16[D], g0: bf16[D], w: bf16[F, D], wd: bf16[D, F])
    -> (y: bf16[T, D]) {
  let h = x + norm(attn @ wo.T, g0)
  y = h + tanh(norm(h, g) @ w.T) @ wd.T
}
)";

struct Planned {
  Planned() {
    const FileId file = sources.add("mlp.coda", kText);
    const auto module = parse(file, sources, diagnostics);
    REQUIRE(module);
    const auto program = elaborate(*module, file, sources, {}, diagnostics);
    REQUIRE(program);
    REQUIRE(plan_block(*program, options, plan, diagnostics));
  }
  SourceMap sources;
  Diagnostics diagnostics{sources};
  PlanOptions options{.sizes = {{"T", 8192}, {"D", 4096}, {"A", 4096}, {"F", 14336}}, .verify = true};
  Plan plan;
};

size_t count(const std::string& text, const std::string& part) {
  size_t times = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++times;
  return times;
}

/// Every block of tests/plan/ablation and examples/, and the gradient of one, planned.
struct ManyPlans {
  struct One {
    std::string name;
    Program block;
    Plan plan;
  };
  ManyPlans() {
    for (const char* folder : {"tests/plan/ablation", "examples"}) {
      for (const auto& entry : fs::directory_iterator(fs::path(source_root()) / folder)) {
        if (entry.path().extension() == ".coda") add(entry.path());
      }
    }
  }
  void add(const fs::path& path) {
    const FileId file = sources.add(path.filename().string(), golden::read(path));
    Diagnostics diagnostics(sources);
    const auto module = parse(file, sources, diagnostics);
    REQUIRE(module);
    for (const RoutineInfo& routine : list_routines(*module)) {
      const bool derived = routine.name.ends_with("_fwd") || routine.name.ends_with("_bwd");
      if (!routine.is_block || derived) continue;
      auto program = elaborate(*module, file, sources, {.routine = routine.name}, diagnostics);
      REQUIRE(program);
      Plan plan;
      REQUIRE(plan_block(*program, options, plan, diagnostics));
      all.push_back({routine.name, std::move(*program), std::move(plan)});
    }
  }
  SourceMap sources;
  PlanOptions options{.sizes = {{"T", 8192}, {"D", 4096}, {"A", 4096}, {"F", 14336}, {"Hq", 32}, {"V", 32064}}};
  std::vector<One> all;
};

const ManyPlans& many_plans() {
  static const ManyPlans plans;
  return plans;
}

/// Where a text of the picture is, by the widths that its style has.
struct Shown {
  double left, right, top, bottom;
  std::string text;
};

std::vector<Shown> texts_of(const std::string& svg) {
  std::vector<Shown> all;
  const std::regex form("<text x=\"(\\d+)\" y=\"(\\d+)\" class=\"(\\w+)\">([^<]*)</text>");
  for (std::sregex_iterator it(svg.begin(), svg.end(), form), end; it != end; ++it) {
    const std::string style = (*it)[3], text = std::regex_replace((*it)[4].str(), std::regex("&\\w+;"), "x");
    const double wide = style == "small"  ? 5.8
                        : style == "code" ? 6.7
                                          : 6.2,
                 x = std::stod((*it)[1]), y = std::stod((*it)[2]);
    all.push_back({x, x + wide * static_cast<double>(text.size()), y - (style == "small" ? 8 : 10), y + 2, text});
  }
  return all;
}

}  // namespace

bool has_own_reduction(const Program& program) {
  for (NodeId id = 0; id < program.graph.size(); ++id) {
    const Node& node = program.graph[id];
    if (node.kind == NodeKind::Reduce && node.reduction->custom != nullptr) return true;
  }
  return false;
}

TEST_CASE("a kernel's statements are its program") {
  for (const auto& one : many_plans().all) {
    for (const PlanKernel& kernel : one.plan.kernels) {
      const auto sizes = small_sizes(one.block, 3);
      REQUIRE(sizes);
      Program alone = kernel.program;  // a size that no tensor of its own has comes with the plan
      for (const auto& [symbol, value] : *sizes) {
        const bool own = std::any_of(alone.params.begin(), alone.params.end(), [&, &name = symbol](const Param& param) {
          return std::any_of(param.dims.begin(), param.dims.end(),
                             [&](const NamedDim& dim) { return dim.extent == Dim::symbol(name); });
        });
        if (!own) alone.facts.push_back({Dim::symbol(symbol), Dim(value), std::nullopt, "=", {}});
      }
      const std::string text = to_source(alone);
      INFO(one.name << "\n" << text);
      const auto lines = statements_of(kernel.program, "t");  // as the program has them
      CHECK(lines.size() == statements_text(kernel).size());
      REQUIRE(!lines.empty());
      for (const std::string& line : lines) CHECK(text.find(line) != std::string::npos);
      if (has_own_reduction(kernel.program)) continue;  // which no text says
      const Compiled again = compile(text);
      INFO(again.diagnostics);
      REQUIRE(again.program);
      const Meaning meant = interpret_source(kernel.program, *sizes, 5),
                    printed = interpret_source(*again.program, *sizes, 5);
      REQUIRE(meant.failure == "");
      REQUIRE(printed.failure == "");
      CHECK(difference(meant, printed) < 1e-12);
    }
  }
}

TEST_CASE("a report cuts nothing, and speaks of values by names that it explains") {
  const ManyPlans& plans = many_plans();
  REQUIRE(plans.all.size() > 15);
  for (const auto& one : plans.all) {
    INFO(one.name);
    const PlanContext context{plans.sources, plans.options};
    for (const std::string& report :
         {to_text(one.plan, context), to_json(one.plan, context), to_html(one.plan, context)}) {
      CHECK(report.find("\u2026") == std::string::npos);
      CHECK(report.find("\\u2026") == std::string::npos);
    }
    for (const LawUse& use : one.plan.laws) {
      INFO(use.law << ": " << use.detail);
      CHECK(use.detail.size() < 700);
      CHECK(place_text(plans.sources, use.span).find("<prelude>") == std::string::npos);
    }
  }
}

TEST_CASE("what is transposed and what is a part is shown so") {
  const Planned planned;
  const std::string text = to_text(planned.plan, {planned.sources, planned.options});
  CHECK(text.find("attn @ wo.T") != std::string::npos);
  CHECK(text.find("attn @ wo\n") == std::string::npos);
  const auto& llama = *std::find_if(many_plans().all.begin(), many_plans().all.end(),
                                    [](const auto& one) { return one.name == "llama"; });
  const std::string parts = to_text(llama.plan);
  CHECK(parts.find("= halves(") != std::string::npos);
  const Compiled gated = compile(
      "kernel k(x: bf16[M, K], w: bf16[2*F, K]) -> (y: bf16[M, F], z: bf16[M, 2*F]) {\n"
      "  let (a, b) = halves(x @ w.T)\n  y = a * b\n  z = join_pairs(b, a)\n}\n");
  REQUIRE(gated.program);
  const auto shown = [&](size_t i) {
    return describe_whole(*gated.program, gated.program->graph, gated.program->outputs[i].value, {});
  };
  CHECK(shown(0) == "(x @ w.T)[:F]*(x @ w.T)[F:2*F]");
  CHECK(shown(1) == "put((x @ w.T)[F:2*F], at [::2]) + put((x @ w.T)[:F], at [1::2])");
}

TEST_CASE("sizes that nobody gave are said in every form") {
  const Planned planned;
  const PlanContext context{planned.sources, {.sizes = {{"T", 8192}, {"D", 4096}}}};
  const std::string expected = "D = 4096, T = 8192; taken as 4096 for want of --dim: ";
  CHECK(sizes_text(planned.plan, context) == expected + "A, F");
  CHECK(to_text(planned.plan, context).find("sizes " + expected) != std::string::npos);
  CHECK(to_html(planned.plan, context).find(expected) != std::string::npos);
  CHECK(nlohmann::json::parse(to_json(planned.plan, context))["assumed_sizes"].size() == 2);
}

TEST_CASE("what a plan requires of dimensions is said in every form") {
  Planned planned;
  const PlanContext context{planned.sources, {}};
  planned.plan.facts = {{.left = Dim(1), .right = Dim::symbol("D"), .modulus = {}, .relation = "<=", .span = {}}};
  CHECK(to_text(planned.plan, context).find("requires 1 <= D, for its laws\n") != std::string::npos);
  CHECK(to_html(planned.plan, context).find("Its laws require 1 &lt;= D.") != std::string::npos);
  CHECK(nlohmann::json::parse(to_json(planned.plan, context))["requires"] == nlohmann::json{"1 <= D"});
}

TEST_CASE("a law that is left out is in no plan, or it is said why it can't be") {
  for (const auto& one : many_plans().all) {
    if (one.plan.kernels.size() > 9) continue;  // gradients take long, and have no law of their own
    std::set<std::string> seen;
    for (const LawUse& use : one.plan.laws) {
      if (!seen.insert(use.law).second) continue;
      INFO(one.name << " without " << use.law);
      PlanOptions options = many_plans().options;
      options.drop_law = use.law;
      Diagnostics diagnostics(many_plans().sources);
      Plan less;
      if (!find_law(use.law)->inherent.empty()) {
        CHECK_FALSE(plan_block(one.block, options, less, diagnostics));
        CHECK(diagnostics.render_text().find("can't be left out") != std::string::npos);
        continue;
      }
      if (!plan_block(one.block, options, less, diagnostics)) continue;
      for (const LawUse& other : less.laws) CHECK(other.law != use.law);
    }
  }
}

TEST_CASE("no text of a picture lies on another, and none leaves its page") {
  for (const auto& one : many_plans().all) {
    INFO(one.name);
    const std::string page = to_html(one.plan, {many_plans().sources, many_plans().options});
    const size_t begin = page.find("<svg ");
    const std::string svg = page.substr(begin, page.find("</svg>") - begin);
    std::smatch width;
    REQUIRE(std::regex_search(svg, width, std::regex(" width=\"(\\d+)\"")));
    const auto texts = texts_of(svg);
    REQUIRE(texts.size() >= one.plan.kernels.size());
    for (size_t i = 0; i < texts.size(); ++i) {
      INFO(texts[i].text);
      CHECK(texts[i].right <= std::stod(width[1]));
      for (size_t j = 0; j < i; ++j) {
        INFO(texts[j].text);
        const bool apart = texts[i].right <= texts[j].left || texts[j].right <= texts[i].left ||
                           texts[i].bottom <= texts[j].top || texts[j].bottom <= texts[i].top;
        if (!apart) CHECK(apart);
      }
    }
  }
}

TEST_CASE("a page of both directions says what is kept between them") {
  const auto& both = *std::find_if(many_plans().all.begin(), many_plans().all.end(),
                                   [](const auto& one) { return one.name.ends_with("_grad"); });
  const std::string page = to_html(both.plan, {many_plans().sources, many_plans().options});
  const auto kept = kept_between_directions(both.plan);
  REQUIRE(!kept.empty());
  CHECK(page.find("Kept between forward and backward") != std::string::npos);
  CHECK(page.find(">backward</text>") != std::string::npos);
  for (const KeptTensor& one : kept) CHECK(page.find(one.why) != std::string::npos);
}

TEST_CASE("lines of a picture are wrapped at blanks") {
  CHECK(wrapped("", 10).empty());
  CHECK(wrapped("a b", 10) == std::vector<std::string>{"a b"});
  CHECK(wrapped("  one two three", 9) == std::vector<std::string>{"  one two", "    three"});
  CHECK(wrapped("abcdefghijkl", 10) == std::vector<std::string>{"abcdefghij", "  kl"});
}

TEST_CASE("a plan as JSON") {
  const Planned planned;
  const auto json = nlohmann::json::parse(to_json(planned.plan, {planned.sources, planned.options}));
  CHECK(json["block"] == "mlp");
  CHECK(json["kernels"].size() == planned.plan.kernels.size());
  CHECK(json["tensors"].size() == planned.plan.tensors.size());
  double bytes = 0;
  bool waits = false;
  for (const auto& kernel : json["kernels"]) {
    bytes += kernel["bytes"].get<double>();
    waits = waits || !kernel["waits"].empty();
  }
  CHECK(bytes == Approx(json["total"]["bytes"].get<double>()));
  CHECK(waits);  // the norm of the first product is added to x: a pass, which says what it waits for
  REQUIRE(!json["laws"].empty());
  for (const auto& law : json["laws"]) {
    REQUIRE(find_law(law["law"].get<std::string>()) != nullptr);
    CHECK(law.contains("equation"));
    REQUIRE(!law["where"].is_null());
    CHECK(law["where"]["file"] == "mlp.coda");
  }
  CHECK(!json["decisions"].empty());
  CHECK(!json["roundings"].empty());
}

TEST_CASE("a plan as one page") {
  const Planned planned;
  const std::string page = to_html(planned.plan, {planned.sources, planned.options});
  CHECK(count(page, "<svg ") == 1);
  CHECK(count(page, "<rect ") == planned.plan.kernels.size());
  CHECK(count(page, "<svg") == count(page, "</svg>"));
  CHECK(count(page, "<table") == count(page, "</table>"));
  CHECK(count(page, "<text ") == count(page, "</text>"));
  CHECK(page.find("http") == std::string::npos);  // nothing from elsewhere
  CHECK(page.find("<script") == std::string::npos);
  CHECK(page.find("waits for") != std::string::npos);
  for (const LawUse& use : planned.plan.laws) CHECK(page.find(use.law) != std::string::npos);
}

TEST_CASE("what is kept at one time") {
  Plan chain;
  const NamedDim t{"T", Dim::symbol("T")};
  for (int i = 0; i < 3; ++i) {
    chain.tensors.push_back({.name = "t", .dtype = DType::F32, .dims = {t}, .first_use = i, .last_use = i + 1});
    chain.kernels.emplace_back();
  }
  CHECK(kept_bytes(chain, {{"T", 1000}}) == 2 * 4000);
}

}  // namespace coda::test
