// Every law of the table on random programs made for it: it must fire, and both sides must mean the same in f64.
#include <catch2/catch.hpp>

#include "../elaborate/compile.h"
#include "compiler/plan/plan.h"
#include "compiler/rewrite/engine.h"
#include "dsl/diagnostics.h"
#include "execute.h"

namespace coda::test {

namespace {

constexpr uint32_t kCases = 12;
const Bindings kLarge{{"T", 8192}, {"D", 4096}, {"A", 4096}, {"F", 14336}, {"N", 6144}, {"E", 64}};

bool logged(const std::vector<LawEntry>& log, const Law* law) {
  return std::any_of(log.begin(), log.end(), [&](const LawEntry& entry) { return entry.law == law; });
}

/// The block with its outputs in normal form and every directed law applied.
struct Rewritten {
  explicit Rewritten(const Program& block)
      : sizes(kLarge), facts(block.facts, block.bound), algebra(graph, sizes, facts) {
    sizes.wide_from = 1 << 20;
    std::map<NodeId, NodeId> memo;
    std::vector<NodeId> roots;
    for (const auto& output : block.outputs) roots.push_back(algebra.import(block.graph, output.value, memo));
    LawEngine engine{.algebra = algebra};
    for (const Law* law : law_table()) {
      if (law->alternatives != nullptr) engine.laws.push_back(law);
    }
    const Rewriting rewriting = engine.run(roots, {});
    CHECK(rewriting.settled);
    program = block;
    program.graph = graph;
    for (size_t i = 0; i < roots.size(); ++i) program.outputs[i].value = rewriting.roots[i];
  }

  SizeHints sizes;
  DimFacts facts;
  Graph graph;
  Algebra algebra;
  Program program;
};

void check_case(const Law& law, uint32_t seed) {
  CaseRandom random(seed);
  const LawCase one = law.random_case(random);
  INFO(law.name << ", seed " << seed << "\n" << one.text);
  const Compiled compiled = one.program ? Compiled{one.program, ""} : compile(one.text);
  INFO(compiled.diagnostics);
  REQUIRE(compiled.program);
  const Program& block = *compiled.program;
  if (law.kind == LawKind::Planner) {
    SourceMap sources;
    Diagnostics diagnostics(sources);
    Plan plan;
    REQUIRE(plan_block(block, {.sizes = one.hints.empty() ? kLarge : one.hints}, plan, diagnostics));
    INFO(to_text(plan));
    CHECK(std::any_of(plan.laws.begin(), plan.laws.end(), [&](const LawUse& use) { return use.law == law.name; }));
    CHECK(worst_error(block, plan, one.sizes, seed) < 1e-5);
    return;
  }
  const Rewritten rewritten(block);
  if (law.kind == LawKind::Identity) {
    REQUIRE(block.outputs.size() == 2);
    const auto& outputs = rewritten.program.outputs;
    if (law.name != "common subexpression") CHECK(outputs[0].value == outputs[1].value);
    // The two share all that is equal: together they are hardly larger than one.
    const auto& graph = rewritten.program.graph;
    const size_t both = topological(graph, {outputs[0].value, outputs[1].value}).size();
    CHECK(both <= topological(graph, {outputs[0].value}).size() + 1);
  } else {
    CHECK(logged(rewritten.algebra.log(), &law));
  }
  const Meaning before = interpret_source(block, one.sizes, seed);
  const Meaning after = interpret_source(rewritten.program, one.sizes, seed);
  REQUIRE(before.failure == "");
  REQUIRE(after.failure == "");
  CHECK(difference(before, after) < 1e-9);
}

}  // namespace

TEST_CASE("every law fires on its own random cases, and is an equation") {
  for (const Law* law : law_table()) {
    REQUIRE(law->random_case != nullptr);
    REQUIRE(!law->equation.empty());
    REQUIRE(!law->conditions.empty());
    CHECK(find_law(law->name) == law);
    for (uint32_t seed = 1; seed <= kCases; ++seed) check_case(*law, seed);
  }
}

}  // namespace coda::test
