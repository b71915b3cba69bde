// Reductions of a program's own: meaning and code agree, equal definitions are one record, and the text reads back.
#include "compiler/ir/custom_reduction.h"

#include <catch2/catch.hpp>
#include <random>

#include "compiler/ir/text.h"
#include "compiler/ir/verify.h"
#include "scalar_emitter.h"

using namespace coda;
using namespace coda::test;

namespace {

/// The greater of two values with what comes with it, and a count.
CombineProgram greater_with_count() {
  CombineProgram program;
  program.identity = {-1e30, 0, 0};
  Graph& g = program.graph;
  std::vector<NodeId> in;
  for (int i = 0; i < 6; ++i) in.push_back(g.input(i, {}, NumClass::Real, {}));
  const NodeId first = g.apply(find_op("ge"), {in[0], in[3]});
  const NodeId one =
      g.apply(find_op("to_real"),
              {g.apply(find_op("select"), {first, g.constant(1, NumClass::Int), g.constant(0, NumClass::Int)})});
  program.results = {g.apply(find_op("select"), {first, in[0], in[3]}),
                     g.sum({g.contract({one, in[1]}, {}), in[4], g.contract({one, in[4]}, {})}, {1, 1, -1}),
                     g.sum({in[2], in[5]}, {1, 1})};
  return program;
}

}  // namespace

TEST_CASE("a reduction of one's own combines alike in meaning and in code") {
  const Reduction& reduction = *custom_reduction(greater_with_count(), 1);
  REQUIRE(reduction.arity() == 3);
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    const size_t count = random() % 9, cut = count == 0 ? 0 : random() % count;
    double left[kMaxStateWords], right[kMaxStateWords];
    std::copy_n(reduction.identity, kMaxStateWords, left);
    std::copy_n(reduction.identity, kMaxStateWords, right);
    ScalarEmitter e;
    Val left_val[kMaxStateWords], right_val[kMaxStateWords];
    for (int w = 0; w < kMaxStateWords; ++w) left_val[w] = right_val[w] = e.real(reduction.identity[w]);
    double greatest = -1e30, with = 0;
    for (size_t i = 0; i < count; ++i) {
      const double x[] = {0.25 * static_cast<double>(random() % 64) + 1e-3 * static_cast<double>(i),
                          static_cast<double>(i), 1};
      reduction.lift(x, i < cut ? left : right);
      reduction.emit_lift(e, {{e.real(x[0]), e.real(x[1]), e.real(x[2])}}, i < cut ? left_val : right_val);
      if (x[0] > greatest) greatest = x[0], with = x[1];
    }
    reduction.combine(left, right);
    reduction.emit_combine(e, left_val, right_val);
    CHECK(reduction.finish(left, 0) == with);
    CHECK(left[2] == static_cast<double>(count));
    CHECK(ScalarEmitter::value_of(reduction.emit_finish(e, left_val, e.real(0)), NumClass::Real) == with);
  }
}

TEST_CASE("equal definitions are one record, and the name reads back as it") {
  const Reduction* one = custom_reduction(greater_with_count(), 0);
  CHECK(custom_reduction(greater_with_count(), 0) == one);
  CHECK(custom_reduction(greater_with_count(), 1) != one);
  const auto read = custom_reduction_from_text(one->name);
  REQUIRE(read.ok());
  CHECK(*read == one);
  for (const char* text :
       {"{", "{}", "{0|||0}", "{0||0|1}", "{0||2|0}", "{0|sum(1*7)|2|0}", "{0|gt(0,1)|2|0}", "{0|pack2(0,1)|2|0}",
        "{0|exp(0,1)|2|0}", "{0;0;0;0;0||0;1;2;3;4|0}", "{x||0|0}", "{0|and(0,1)|2|0}", "{0|nothing(0)|2|0}"}) {
    INFO(text);
    CHECK_FALSE(custom_reduction_from_text(text).ok());
  }
  CHECK(custom_reduction_from_text("{0|sum(1*0,1*1)|2|0}").ok());
}

TEST_CASE("a graph with a reduction of its own reads back, and a wrong number of lifted values is refused") {
  Program program;
  program.name = "f";
  const NamedDim m{"M", Dim::symbol("M")}, n{"N", Dim::symbol("N")};
  program.params = {{.name = "x", .dims = {m, n}}, {.name = "y", .role = Param::Role::Out, .dims = {m}}};
  Graph& g = program.graph;
  const NodeId x = g.input(0, {m, n}, NumClass::Real, {});
  const NodeId pack = g.apply(pack_op(3), {x, g.index(n), g.constant(1)});
  const Reduction* reduction = custom_reduction(greater_with_count(), 1);
  program.outputs = {{1, g.reduce(reduction, pack, {n}), {}}};
  CHECK(verify(program).empty());
  const auto read = program_from_text(to_text(program));
  REQUIRE(read.ok());
  CHECK(to_text(*read) == to_text(program));
  program.outputs = {{1, g.reduce(reduction, x, {n}), {}}};
  CHECK_FALSE(verify(program).empty());
}
