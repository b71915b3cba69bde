// The JSON and the HTML page of a plan say what the plan says.
#include "compiler/plan/report.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "compiler/elaborate/elaborate.h"
#include "compiler/rewrite/law.h"
#include "dsl/diagnostics.h"
#include "dsl/parser.h"

namespace coda::test {

namespace {

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

}  // namespace

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
