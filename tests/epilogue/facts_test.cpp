// What can be proved of symbolic extents, and symbolic evaluation at other coordinates.
#include <catch2/catch.hpp>

#include "compiler/epilogue/dim_facts.h"
#include "compiler/epilogue/reindex.h"

namespace coda {
namespace {

const Dim kF = Dim::symbol("F"), kG = Dim::symbol("G"), kH = Dim::symbol("H");

DimFact fact(const Dim& left, const std::string& relation, const Dim& right, std::optional<Dim> modulus = {}) {
  return {.left = left, .right = right, .modulus = std::move(modulus), .relation = relation, .span = {}};
}

}  // namespace

TEST_CASE("order of extents", "[facts]") {
  const DimFacts none({}, {});
  CHECK(none.at_most(kF, kF * Dim(2)));
  CHECK(none.at_most(kF, kF + kG));
  CHECK(none.less(kF * kG, kF * kG + Dim(1)));
  CHECK_FALSE(none.less(kF, kF));
  CHECK_FALSE(none.at_most(kF, kG));
  CHECK_FALSE(none.at_most(kF * Dim(2), kF));

  const DimFacts some({fact(kF, "<=", kG), fact(kH, ">", kG)}, {});
  CHECK(some.at_most(kF, kG));
  CHECK(some.less(kF, kH));
  CHECK(some.at_most(kF * Dim(2), kG + kH));
  CHECK_FALSE(some.at_most(kG, kF));
  const DimFacts equal({fact(kF, "=", kG * Dim(2))}, {});
  CHECK(equal.at_most(kG, kF));
  CHECK(equal.at_most(kF, kG * Dim(2)));
  const DimFacts bound({fact(kF, "<=", kG)}, {{"G", 5}});
  CHECK(bound.at_most(kF, Dim(5)));
  CHECK_FALSE(bound.at_most(kF, Dim(4)));
}

TEST_CASE("divisibility of extents", "[facts]") {
  const DimFacts none({}, {});
  CHECK(none.divisible(kF * Dim(128), 64));
  CHECK(none.divisible(kF, 1));
  CHECK_FALSE(none.divisible(kF * Dim(128) + Dim(32), 64));
  CHECK_FALSE(none.divisible(kF, 2));
  CHECK_FALSE(none.divisible(kF.divided_by(Dim(2)).value(), 2));
  CHECK(none.exact_quotient(kF * kG * Dim(6), kG * Dim(3)) == kF * Dim(2));
  CHECK(none.exact_quotient(kF, kG) == std::nullopt);
  CHECK(none.exact_quotient(kF, Dim(2)) == std::nullopt);

  const DimFacts some({fact(kF, "==", Dim(), Dim(128)), fact(kF + kG, "=", Dim(), Dim(8))}, {});
  CHECK(some.divisible(kF, 128));
  CHECK(some.divisible(kF * Dim(2), 256));
  CHECK(some.divisible(kF.divided_by(Dim(2)).value(), 64));
  CHECK(some.divisible(kF * kH, 128));
  CHECK_FALSE(some.divisible(kF, 256));
  CHECK(some.divisible(kF + kG, 8));
  CHECK_FALSE(some.divisible(kG, 16));
}

TEST_CASE("where a coordinate falls", "[reindex]") {
  Graph graph;
  const DimFacts facts({}, {});
  const Reindexer reindexer(graph, facts);
  using Kind = Reindexer::Landing::Kind;
  const NamedDim f{"F", kF}, e{"e", Dim(8)}, h{"H", kH}, half{"half", Dim(4)}, j{"j", Dim(2)};
  const auto map = [](const Dim& offset, std::vector<AffineMap::Term> terms) {
    return normalised({.offset = offset, .terms = std::move(terms)});
  };
  const AffineMap first = map(Dim(), {{f, Dim(1)}}), second = map(kF, {{f, Dim(1)}});
  CHECK(reindexer.land(first, second).kind == Kind::Outside);
  CHECK(reindexer.land(second, first).kind == Kind::Outside);
  const auto same = reindexer.land(second, second);
  REQUIRE(same.kind == Kind::Inside);
  CHECK(same.digits.at("F") == affine(f));
  // A coordinate over both halves is in neither for sure.
  CHECK(reindexer.land(first, map(Dim(), {{{"2*F", kF * Dim(2)}, Dim(1)}})).kind == Kind::Unknown);
  // Even and odd.
  const AffineMap even = map(Dim(), {{half, Dim(2)}}), odd = map(Dim(1), {{half, Dim(2)}});
  CHECK(reindexer.land(even, odd).kind == Kind::Outside);
  CHECK(reindexer.land(odd, even).kind == Kind::Outside);
  CHECK(reindexer.land(odd, odd).kind == Kind::Inside);
  CHECK(reindexer.land(even, affine(e)).kind == Kind::Unknown);
  // Heads: digits of a flat index are found again, also with a part of the inner one.
  const AffineMap flat = map(Dim(), {{h, Dim(8)}, {e, Dim(1)}});
  const auto digits = reindexer.land(flat, map(Dim(4), {{h, Dim(8)}, {half, Dim(1)}}));
  REQUIRE(digits.kind == Kind::Inside);
  CHECK(digits.digits.at("H") == affine(h));
  CHECK(digits.digits.at("e") == map(Dim(4), {{half, Dim(1)}}));
  CHECK(reindexer.land(flat, map(kH * Dim(8), {{e, Dim(1)}})).kind == Kind::Outside);
  CHECK(reindexer.land(flat, map(Dim(6), {{h, Dim(8)}, {half, Dim(1)}})).kind == Kind::Unknown);
  CHECK(reindexer.land(map(Dim(), {{j, Dim(1)}}), map(Dim(), {})).kind == Kind::Inside);
}

}  // namespace coda
