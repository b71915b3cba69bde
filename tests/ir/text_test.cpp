// The text form: every program reads back as itself; what is wrong is refused with its line and reason.
#include "compiler/ir/text.h"

#include <catch2/catch.hpp>
#include <random>

#include "compiler/ir/verify.h"
#include "random_program.h"

using namespace coda;
using namespace coda::test;

namespace {

const char* const kGateUp = R"(// comments and blank lines are skipped

kernel gate_up
doc SwiGLU of both halves.\nOne launch.
param x : bf16 [M, K] in
param w : bf16 [2*F, K] in const
param rstd : f32 [M] in
param alpha : f32 [] scalar default 0.5
param act : bf16 [M, F] out
bound K = 4096
fact (2*F) % (64) = (0)
schedule tile_m = 128
%0 = input 0 Real [K, M]
%1 = input 1 Real [2*F, K]
%2 = input 2 Real [M]
%3 = contract (%0, %1) over [K]
%4 = contract (%2, %3) over []
%5 = view %4 [2*F] at (0; F : 1)
%6 = view %4 [2*F] at (F; F : 1)
%7 = apply sigmoid (%5)
%8 = contract (%5, %6, %7) over []
output 4 = %8
)";

std::string without_comments(std::string text) { return text.substr(text.find("kernel")); }

}  // namespace

TEST_CASE("a program written by hand reads, and prints as it was written") {
  const auto program = program_from_text(kGateUp);
  INFO(program.status().message());
  REQUIRE(program.ok());
  CHECK(to_text(*program) == without_comments(kGateUp));
  CHECK(program->doc == "SwiGLU of both halves.\nOne launch.");
  CHECK(program->params[3].default_value == 0.5);
  CHECK(program->params[1].is_const);
  CHECK(program->graph[8].dims == std::vector<NamedDim>{{"F", Dim::symbol("F")}, {"M", Dim::symbol("M")}});
  CHECK(program->facts[0].modulus == Dim(64));
}

TEST_CASE("random programs read back node for node") {
  int nodes = 0;
  for (unsigned seed = 0; seed < 300; ++seed) {
    const RandomProgram random = random_program(seed, seed % 2 == 0);
    const std::string text = to_text(random.program);
    const auto again = program_from_text(text);
    INFO("seed " << seed << "\n" << text << again.status().message());
    REQUIRE(again.ok());
    REQUIRE(to_text(*again) == text);
    REQUIRE(again->graph.size() == random.program.graph.size());
    nodes += again->graph.size();
    for (NodeId id = 0; id < again->graph.size(); ++id) {
      REQUIRE(again->graph[id].dims == random.program.graph[id].dims);
      REQUIRE(again->graph[id].num_class == random.program.graph[id].num_class);
    }
  }
  CHECK(nodes > 6000);
}

TEST_CASE("numbers keep every bit") {
  Program program;
  program.name = "constants";
  for (const double value :
       {0.1, 1.0 / 3, -0.0, 1e-320, 1.7976931348623157e308, 123456789012345678.0, HUGE_VAL, -HUGE_VAL}) {
    program.graph.constant(value);
  }
  const auto again = program_from_text(to_text(program));
  REQUIRE(again.ok());
  REQUIRE(again->graph.size() == program.graph.size());
  for (NodeId id = 0; id < program.graph.size(); ++id) {
    CHECK(again->graph[id].value == program.graph[id].value);
    CHECK(std::signbit(again->graph[id].value) == std::signbit(program.graph[id].value));
  }
}

TEST_CASE("renamed dimensions keep their extent") {
  const char* const text =
      "kernel k\nparam x : f32 [M2=M, 2*Hq + 1] in\nparam y : f32 [M2=M] out\n%0 = input 0 Real [2*Hq + 1, M2=M]\n"
      "%1 = reduce max %0 over [2*Hq + 1]\noutput 1 = %1\n";
  const auto program = program_from_text(text);
  INFO(program.status().message());
  REQUIRE(program.ok());
  CHECK(program->params[0].dims[0].name == "M2");
  CHECK(program->params[0].dims[0].extent == Dim::symbol("M"));
  CHECK(to_text(*program) == text);
}

TEST_CASE("mistakes are refused with line and reason") {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"%0 = contract (%1) over []", "line 1: %1 is not defined above"},
      {"%0 = input 0 Real [M]\n%0 = index [M]", "line 2: %0 is defined twice"},
      {"%0 = input 0 Real [M]\n%1 = contract (%0) over [K]", "line 2: no argument has the summed dimension K"},
      {"%0 = input 0 Real [M]\n%1 = view %0 [K] at (0; F : 1)", "line 2: its argument has no dimension K"},
      {"%0 = input 0 Real [M]\n%1 = put %0 [K] at (0; F : 1)", "line 2: its argument has no dimension F"},
      {"%0 = input 0 Real [M]\n%1 = gather %0 [M] by %0", "line 2: its index is not of class Int"},
      {"%0 = input 0 Real [M]\n%1 = apply and (%0, %0)", "line 2: and: an argument is not a Bool"},
      {"%0 = input 0 Real [M]\n%1 = apply exp (%0, %0)", "line 2: has 2 arguments, 1 needed"},
      {"%0 = input 0 Real [M]\n%1 = apply silu (%0)", "line 2: 'silu' is no op"},
      {"%0 = input 0 Real [M]\n%1 = reduce median %0 over [M]", "line 2: 'median' is no reduction"},
      {"%0 = input 0 Real [M=3]\n%1 = input 1 Real [M=4]\n%2 = contract (%0, %1) over []",
       "line 3: dimension M has extents 3 and 4"},
      {"%0 = input 0 Real [M, M]", "line 1: names a dimension twice"},
      {"%0 = cast f64 %0", "line 1: 'f64' is no element type"},
      {"%0 = constant 1.5x Real", "line 1: '1.5x' is no number"},
      {"%0 = constant 1 Complex", "line 1: 'Complex' is no number class"},
      {"%0 = tensor", "line 1: 'tensor' is no kind of node"},
      {"%0 = index [M] [N]", "line 1: '[N]' is left over"},
      {"%0 = index [M +]", "line 1: 'M +' is no dimension"},
      {"kernel k\nlet x = 1", "line 2: 'let' begins no line"},
      {"param x : bf16 [M] maybe", "line 1: 'maybe' is no role of a parameter"},
      {"param x : bf16 [M] in\nparam x : bf16 [M] in", "two parameters are named x"},
      {"param x : f32 [M] out", "output x is never written"},
      {"param x : f32 [M] in\n%0 = index [M]\noutput 0 = %0", "output x: is read only"},
      {"param x : f32 [M] out\n%0 = index [N]\noutput 0 = %0", "output x: its value has a dimension N that it lacks"},
      {"%0 = input 3 Real [M]", "%0 = input 3 Real [M]: there is no such parameter"},
      {"param x : i32 [M] in\n%0 = input 0 Real [M]", "%0 = input 0 Real [M]: parameter x has another class"},
  };
  for (const auto& [text, message] : cases) {
    INFO(text);
    const auto program = program_from_text(text);
    CHECK_FALSE(program.ok());
    CHECK(program.status().message() == message);
  }
}

TEST_CASE("no damage to a text makes the reader crash") {
  std::mt19937 random(5);
  int refused = 0;
  for (unsigned seed = 0; seed < 60; ++seed) {
    const std::string text = seed % 4 == 0 ? kGateUp : to_text(random_program(seed, true).program);
    for (int round = 0; round < 60; ++round) {
      std::string damaged = text;
      for (int i = 0; i < 3; ++i) {
        const size_t at = random() % damaged.size();
        const char* const pieces[] = {"", "%", "(", ")", "[", "]", "99", "M", "view", "-", ";", " "};
        damaged.replace(at, random() % 4, pieces[random() % 12]);
      }
      const auto program = program_from_text(damaged);
      refused += !program.ok();
      if (program.ok()) REQUIRE(verify(*program).empty());
    }
  }
  CHECK(refused > 1000);
}
