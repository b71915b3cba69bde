// Symbolic extents: canonical text is identity, arithmetic agrees with arithmetic on values, quotients are exact or
// refuse, overflow gives nothing.
#include "runtime/format/dim.h"

#include <catch2/catch.hpp>
#include <random>

using namespace coda;

namespace {

Dim sym(const char* name) { return Dim::symbol(name); }
Dim quotient(const Dim& a, const Dim& b) { return a.divided_by(b).value(); }

}  // namespace

TEST_CASE("equal dimensions have one spelling") {
  const Dim F = sym("F"), Hq = sym("Hq"), Hkv = sym("Hkv"), Dh = sym("Dh");
  CHECK(Dim().text() == "0");
  CHECK(Dim(0).text() == "0");
  CHECK(Dim(-3).text() == "-3");
  CHECK((F + F).text() == "2*F");
  CHECK((F * Dim(2)).text() == "2*F");
  CHECK((Hq * Dh + Hkv * Dh + Dh * Hkv) == ((Hq + Dim(2) * Hkv) * Dh));
  CHECK((F - F).is_zero());
  CHECK((F + Dim(1) - F).constant() == 1);
  CHECK((Dim(1) + F).text() == "F + 1");
  CHECK((F - Dim(1)).text() == "F - 1");
  CHECK((Dim(0) - F).text() == "-F");
  CHECK((F * F).text() == "F*F");
  CHECK(F.text() == "F");
  CHECK_FALSE(F == Dh);
  CHECK_FALSE(F.constant().has_value());
}

TEST_CASE("quotients are exact, cancel, or stay opaque with a canonical name") {
  const Dim N = sym("N"), G = sym("G"), Dh = sym("Dh");
  CHECK(quotient(Dh, 2).text() == "Dh/2");
  CHECK(quotient(Dim(2) * Dh, 2) == Dh);
  CHECK(quotient(Dim(6) * Dh, 4).text() == "3*Dh/2");
  CHECK(quotient(Dh, 2) + quotient(Dh, 2) == Dh);
  CHECK(quotient(Dh, 2) * Dim(2) == Dh);
  CHECK(quotient(N * G, G) == N);
  CHECK(quotient(N * G + G, G) == N + Dim(1));
  CHECK(quotient(N, N).constant() == 1);
  CHECK(quotient(N + Dim(1), N + Dim(1)).constant() == 1);
  CHECK(quotient(Dim(0), N).is_zero());
  CHECK_FALSE(N.divided_by(0).has_value());
  CHECK_FALSE(N.divided_by(N - N).has_value());
  CHECK(quotient(N, G).text() == "(N/G)");
  CHECK(quotient(N, G) == quotient(N, G));
  CHECK(quotient(N, G).symbols() == std::set<std::string>{"G", "N"});
  CHECK(quotient(Dh + Dim(1), 2).text() == "(Dh + 1)/2");
  CHECK(quotient(Dim(0) - Dh, -2) == quotient(Dh, 2));
}

TEST_CASE("evaluation refuses unbound symbols, remainders and overflow") {
  const Dim N = sym("N"), G = sym("G");
  CHECK((N * N + Dim(3)).evaluate({{"N", 5}}) == 28);
  CHECK_FALSE(N.evaluate({}).has_value());
  CHECK_FALSE((N * G).evaluate({{"N", 5}}).has_value());
  CHECK(quotient(N, 2).evaluate({{"N", 10}}) == 5);
  CHECK_FALSE(quotient(N, 2).evaluate({{"N", 11}}).has_value());
  CHECK(quotient(N, G).evaluate({{"N", 12}, {"G", 4}}) == 3);
  CHECK_FALSE(quotient(N, G).evaluate({{"N", 13}, {"G", 4}}).has_value());
  CHECK_FALSE(quotient(N, G).evaluate({{"N", 13}, {"G", 0}}).has_value());
  const int64_t big = int64_t{1} << 62;
  CHECK((N + N).evaluate({{"N", big - 1}}) == 2 * (big - 1));
  CHECK_FALSE((N + N).evaluate({{"N", big}}).has_value());
  CHECK_FALSE((N * N).evaluate({{"N", big}}).has_value());
  CHECK_FALSE((N + G).evaluate({{"N", big}, {"G", big}}).has_value());
  CHECK(N.evaluate({{"N", 0}}) == 0);
}

TEST_CASE("arithmetic beyond 64 bits gives a dimension without a value") {
  const Dim big(int64_t{1} << 62), N = sym("N");
  for (const Dim& large : {big + big, big * Dim(2), big * big, Dim(0) - big - big - Dim(1), N * big * Dim(4) + N,
                           Dim(INT64_MIN), quotient(N, big) * quotient(N, Dim(8)), quotient(quotient(N, big), 4)}) {
    INFO(large.text());
    CHECK_FALSE(large.constant().has_value());
    CHECK_FALSE(large.evaluate({{"N", 1}}).has_value());
    CHECK_FALSE((large - large + large).evaluate({{"N", 1}}).has_value());
  }
  CHECK((big + (big - Dim(1))).constant() == INT64_MAX);
  CHECK((Dim(0) - big - (big - Dim(1))).constant() == -INT64_MAX);
}

TEST_CASE("substitution binds what it is given and cancels again") {
  const Dim Hq = sym("Hq"), Dh = sym("Dh"), N = sym("N"), G = sym("G");
  const Dim total = Hq * Dh + Dim(2) * Dh;
  CHECK(total.substitute({{"Dh", 128}}).text() == "128*Hq + 256");
  CHECK(total.renamed({{"Hq", "Dh"}, {"Dh", "Hq"}}).text() == "Dh*Hq + 2*Hq");
  CHECK(total.substitute({{"Hq", 4}}).text() == "6*Dh");
  CHECK(total.substitute({{"Hq", 4}, {"Dh", 2}}).constant() == 12);
  CHECK(total.substitute({}) == total);
  CHECK(quotient(N, G).substitute({{"G", 32}}).text() == "N/32");
  CHECK(quotient(N, G).substitute({{"N", 64}, {"G", 32}}).constant() == 2);
  CHECK(quotient(N, 2).substitute({{"N", 6}}).constant() == 3);
  // What does not divide stays a quotient, so that evaluation still refuses it.
  CHECK_FALSE(quotient(N, 2).substitute({{"N", 7}}).evaluate({}).has_value());
  // A divisor bound to 0 stays an error, too.
  CHECK_FALSE(quotient(N, G).substitute({{"N", 7}, {"G", 0}}).evaluate({}).has_value());
}

TEST_CASE("linear_in splits a*name + b") {
  const Dim F = sym("F"), Dh = sym("Dh"), N = sym("N");
  auto split = (Dim(2) * F + Dh).linear_in("F");
  REQUIRE(split);
  CHECK(split->first.constant() == 2);
  CHECK(split->second == Dh);
  split = (Dh * F + Dh + Dim(1)).linear_in("F");
  REQUIRE(split);
  CHECK(split->first == Dh);
  CHECK(split->second == Dh + Dim(1));
  split = quotient(F, 2).linear_in("F");
  REQUIRE(split);
  CHECK(split->first.text() == "1/2");
  CHECK(split->second.is_zero());
  split = Dh.linear_in("F");
  REQUIRE(split);
  CHECK(split->first.is_zero());
  CHECK_FALSE((F * F).linear_in("F").has_value());
  CHECK_FALSE(quotient(N, F).linear_in("F").has_value());
  CHECK_FALSE(quotient(F, N).linear_in("F").has_value());
  split = (F + quotient(N, Dh)).linear_in("F");
  REQUIRE(split);
  CHECK(split->second == quotient(N, Dh));
}

TEST_CASE("arithmetic on dimensions agrees with arithmetic on their values") {
  std::mt19937 random(7);
  const Bindings bindings = {{"A", 6}, {"B", 4}, {"C", 12}};
  std::vector<std::pair<Dim, int64_t>> pool = {
      {sym("A"), 6}, {sym("B"), 4}, {sym("C"), 12}, {Dim(2), 2}, {Dim(-1), -1}};
  for (int step = 0; step < 2000; ++step) {
    const auto& [a, va] = pool[random() % pool.size()];
    const auto& [b, vb] = pool[random() % pool.size()];
    Dim result;
    int64_t value = 0;
    const int which = static_cast<int>(random() % 4);
    if (which == 0) result = a + b, value = va + vb;
    if (which == 1) result = a - b, value = va - vb;
    if (which == 2) result = a * b, value = va * vb;
    if (which == 3) {
      if (vb == 0 || va % vb != 0 || b.is_zero()) continue;
      result = quotient(a, b), value = va / vb;
    }
    if (std::abs(value) > 100000) continue;
    INFO(a.text() << " op " << which << " " << b.text() << " = " << result.text());
    REQUIRE(result.evaluate(bindings) == value);
    REQUIRE(result.substitute(bindings).constant() == value);
    REQUIRE(result.substitute({{"A", 6}}).evaluate(bindings) == value);
    if (result.text().size() < 80) pool.emplace_back(result, value);
  }
  CHECK(pool.size() > 100);
}
