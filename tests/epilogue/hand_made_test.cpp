// Programs made with the graph's constructors: what the front end would refuse or write otherwise; and epilogue
// programs that are broken on purpose, which the verifier must notice.
#include <catch2/catch.hpp>
#include <functional>

#include "compiler/epilogue/summary.h"
#include "compiler/epilogue/verify.h"
#include "dsl/diagnostics.h"
#include "lowered.h"

namespace coda::test {

namespace {

NamedDim dim(const std::string& name) { return {name, Dim::symbol(name)}; }

Param param(const std::string& name, Param::Role role, DType dtype, std::vector<NamedDim> dims) {
  return {.name = name, .role = role, .dtype = dtype, .dims = std::move(dims), .default_value = {}, .span = {}};
}

std::string ids_of(const Program& program, EpilogueProgram& epilogue) {
  SourceMap sources;
  Diagnostics diagnostics(sources);
  lower_to_epilogue(program, epilogue, diagnostics);
  std::string ids;
  for (const auto& d : diagnostics.all()) ids += std::string(name_of(d.id)) + " ";
  return ids;
}

EpilogueProgram good() {
  const Lowered lowered = lower(R"(
kernel f(x: bf16[M, K], w: bf16[2*F, K], r: f32[M]) -> (y: bf16[M, F], s: f32[M], c: f32[F]) {
    let (a, b) = halves(x @ w.T)
    let v = a * b * r
    y = v
    s = max(v, over = F)
    c = sum(v, over = M)
})");
  INFO(lowered.diagnostics);
  REQUIRE(lowered.epilogue);
  return *lowered.epilogue;
}

}  // namespace

TEST_CASE("an inout operand is refused", "[hand]") {
  Program program;
  program.name = "f";
  const NamedDim m = dim("M"), n = dim("N"), k = dim("K");
  program.params = {param("x", Param::Role::In, DType::BF16, {m, k}),
                    param("w", Param::Role::InOut, DType::BF16, {n, k}),
                    param("y", Param::Role::Out, DType::BF16, {m, n})};
  Graph& graph = program.graph;
  const NodeId product =
      graph.contract({graph.input(0, {m, k}, NumClass::Real, {}), graph.input(1, {n, k}, NumClass::Real, {})}, {k});
  program.outputs = {{2, product, {}}};
  EpilogueProgram epilogue;
  CHECK(ids_of(program, epilogue) == "E0331 ");
  program.params[1].role = Param::Role::In;
  CHECK(ids_of(program, epilogue) == "");
  CHECK(verify_epilogue(epilogue).empty());
  CHECK(epilogue.regions.size() == 1);
  CHECK(epilogue.stores.size() == 1);
}

TEST_CASE("the verifier notices what is broken", "[verify]") {
  CHECK(verify_epilogue(good()).empty());
  const std::vector<std::pair<const char*, std::function<void(EpilogueProgram&)>>> breaks = {
      {"an operand's axis twice", [](EpilogueProgram& e) { e.a.depth_axis = e.a.outer_axes[0]; }},
      {"another operand type",
       [](EpilogueProgram& e) { e.program.params[static_cast<size_t>(e.a.param)].dtype = DType::F16; }},
      {"no segment", [](EpilogueProgram& e) { e.regions[0].segments.clear(); }},
      {"a segment elsewhere", [](EpilogueProgram& e) { e.regions[0].segments[1] = Dim(7); }},
      {"no granule", [](EpilogueProgram& e) { e.regions[0].granule = 0; }},
      {"a store without its region", [](EpilogueProgram& e) { e.stores[0].region = 3; }},
      {"a value of other dimensions", [](EpilogueProgram& e) { e.stores[0].columns.digits.clear(); }},
      {"another stride", [](EpilogueProgram& e) { e.stores[0].columns.digits[0].stride = Dim(2); }},
      {"a symbolic stride", [](EpilogueProgram& e) { e.stores[0].columns.digits[0].stride = Dim::symbol("F"); }},
      {"a shifted phase", [](EpilogueProgram& e) { e.stores[0].columns.phase = 1; }},
      {"an index too few", [](EpilogueProgram& e) { e.stores[0].index.pop_back(); }},
      {"a store to an input", [](EpilogueProgram& e) { e.stores[0].param = 0; }},
      {"an output that is not stored", [](EpilogueProgram& e) { e.finish_stores.pop_back(); }},
      {"a statistic without parts", [](EpilogueProgram& e) { e.statistics[0].parts.clear(); }},
      {"a statistic without a user",
       [](EpilogueProgram& e) { e.finish_stores[0].value = e.program.graph.constant(1); }},
      {"the tile in the finish stage", [](EpilogueProgram& e) { e.finish_stores[0].value = e.stores[0].value; }},
      {"another scope", [](EpilogueProgram& e) { e.finish_stores[0].scope = StatScope::All; }},
  };
  for (const auto& [name, change] : breaks) {
    INFO(name);
    EpilogueProgram epilogue = good();
    change(epilogue);
    CHECK_FALSE(verify_epilogue(epilogue).empty());
  }
}

TEST_CASE("granules are as small as they can be", "[layout]") {
  struct Case {
    const char* body;
    int64_t granule;
    size_t regions, segments;
  };
  const std::vector<Case> cases = {
      {"y = z", 1, 1, 1},
      {"let (a, b) = halves(z)\n y = join_halves(a - b, a + b)", 1, 1, 2},
      {"let (a, b) = pairs(z)\n y = join_pairs(a - b, a + b)", 2, 1, 1},
      {"let (a, b) = halves(group(z, G = 8))\n y = flatten(join_halves(a - b, a + b))", 8, 1, 1},
  };
  for (const Case& c : cases) {
    INFO(c.body);
    const Lowered lowered =
        lower("kernel f(x: bf16[M, K], w: bf16[N, K]) -> (y: f32[M, N]) where N = 96 {\n let z = x @ w.T\n " +
              std::string(c.body) + "\n}");
    INFO(lowered.diagnostics);
    REQUIRE(lowered.epilogue);
    INFO(to_text(*lowered.epilogue));
    REQUIRE(lowered.epilogue->regions.size() == c.regions);
    CHECK(lowered.epilogue->regions[0].granule == c.granule);
    CHECK(lowered.epilogue->regions[0].segments.size() == c.segments);
  }
}

TEST_CASE("the summary counts every byte once", "[summary]") {
  const EpilogueProgram epilogue = good();
  const KernelSummary summary = summarise(epilogue);
  const Bindings sizes{{"M", 8}, {"F", 16}, {"K", 4}};
  CHECK(summary.flops.evaluate(sizes) == 2 * 8 * 32 * 4);
  CHECK(summary.read_bytes.evaluate(sizes) == 2 * (8 * 4 + 32 * 4) + 4 * 8);
  CHECK(summary.written_bytes.evaluate(sizes) == 2 * 8 * 16 + 4 * 8 + 4 * 16);
  REQUIRE(summary.statistics.size() == 2);
  CHECK(summary.statistics[0].scope == StatScope::Row);
  CHECK(summary.statistics[1].scope == StatScope::Column);
  const std::string text = to_text(epilogue, summary, sizes);
  CHECK(text.find("flops") != std::string::npos);
  CHECK(text.find("= 2048") != std::string::npos);
}

}  // namespace coda::test
