// The algebra of coordinates: exact division and range questions.
#include "compiler/codegen/coordinate.h"

#include <catch2/catch.hpp>

using namespace coda;

TEST_CASE("coordinates divide where the facts prove it", "[coordinate]") {
  CoordSpace space;
  const VarId start = space.add({.name = "C0", .multiple_of = 128});
  const VarId quad = space.add({.name = "q", .count = 4});
  const Coord base = Coord::variable(start);

  // Thread-owned columns: C0 + 67 + 8*q in heads of 64.
  const auto head = space.divide(base + Coord(67) + Coord::variable(quad, 8), 64);
  REQUIRE(head);
  CHECK(space.to_text(head->first) == "C0/64 + 1");
  CHECK(space.to_text(head->second) == "8*q + 3");
  // What was divided is put together again.
  CHECK(head->first * 64 + head->second == base + Coord(67) + Coord::variable(quad, 8));

  // 8*q + 48 would cross from one head into the next.
  CHECK_FALSE(space.divide(base + Coord(48) + Coord::variable(quad, 8), 64));
  // Negative numbers round down.
  const auto below = space.divide(Coord(-1), 64);
  REQUIRE(below);
  CHECK(below->first.as_constant() == -1);
  CHECK(below->second.as_constant() == 63);
  // A symbolic part divides if each of its terms does.
  const auto symbolic = space.divide(Coord::of(Dim::symbol("F") * Dim(128)) + Coord(5), 64);
  REQUIRE(symbolic);
  CHECK(space.to_text(symbolic->first) == "2*F");
  CHECK_FALSE(space.divide(Coord::of(Dim::symbol("F")), 64));
}

TEST_CASE("coordinates lie inside intervals, or not, or it isn't known", "[coordinate]") {
  CoordSpace space;
  const Dim f = Dim::symbol("F");
  const VarId d = space.add({.name = "d", .count = 64});
  const VarId c = space.add({.name = "c", .bound = f});
  const VarId start = space.add({.name = "C0"});
  CHECK(space.inside(Coord::variable(d), Dim(0), Dim(64)) == Answer::Yes);
  CHECK(space.inside(Coord::variable(d), Dim(0), Dim(32)) == Answer::Unknown);
  CHECK(space.inside(Coord::variable(d), Dim(64), Dim(64)) == Answer::No);
  CHECK(space.inside(Coord::variable(d) - Coord(64), Dim(0), Dim(64)) == Answer::No);
  CHECK(space.inside(Coord::variable(d), Dim(0), Dim(0)) == Answer::No);
  // With symbolic bounds and offsets.
  CHECK(space.inside(Coord::variable(c), Dim(0), f) == Answer::Yes);
  CHECK(space.inside(Coord::variable(c) + Coord::of(f), f, f) == Answer::Yes);
  CHECK(space.inside(Coord::variable(c) + Coord(1), Dim(0), f) == Answer::Unknown);
  // By assumption.
  const Coord column = Coord::variable(start) + Coord(3);
  CHECK(space.inside(column, Dim(0), f) == Answer::Unknown);
  space.assume(column, f);
  CHECK(space.inside(column, Dim(0), f) == Answer::Yes);
  CHECK(space.inside(column + Coord::of(f), f, f) == Answer::Yes);
  CHECK(space.inside(column + Coord::of(f), Dim(0), f) == Answer::No);
  CHECK(space.inside(column - Coord::of(f), Dim(0), f) == Answer::No);
}

TEST_CASE("coordinates have one form", "[coordinate]") {
  CoordSpace space;
  const VarId a = space.add({.name = "a"}), b = space.add({.name = "b"});
  const Dim f = Dim::symbol("F");
  const Coord x = Coord::variable(b, 2) + Coord::of(f + Dim(3)) + Coord::variable(a);
  const Coord y = Coord(3) + Coord::variable(a) + Coord::variable(b, 2) + Coord::of(f);
  CHECK(x == y);
  CHECK(x.hash() == y.hash());
  CHECK((x - y).as_constant() == 0);
  CHECK((x - Coord::variable(a) - Coord::variable(b, 2)).as_dim() == f + Dim(3));
  // Halves that add up to a whole number.
  const Dim half = *(f + Dim(1)).divided_by(Dim(2));
  CHECK((Coord::of(half) + Coord::of(half)) == Coord::of(f + Dim(1)));
  CHECK(Coord::of(half) * 2 == Coord::of(f + Dim(1)));
  CHECK_FALSE(x.times(f));
  CHECK(Coord(3).times(f) == Coord::of(f * Dim(3)));
}
