// Which regions of a product's columns share one code, and which must not.
#include "compiler/codegen/sm90_twins.h"

#include <catch2/catch.hpp>

#include "compiler/codegen/sm90.h"
#include "compiler/codegen/sm90_plan.h"
#include "sm90_programs.h"

namespace coda {
namespace {

std::vector<Sm90Likeness> likeness_of(const std::string& text, const Bindings& bound = {}) {
  std::string report;
  const auto epilogue = test::lower_text({"k", text, bound}, report);
  INFO(text << report);
  REQUIRE(epilogue);
  Sm90Plan plan;
  KernelImage image;
  REQUIRE(make_sm90_plan(*epilogue, *find_sm90_schedule("128x128"), plan, image).empty());
  return plan.likeness;
}

std::vector<int> leaders(const std::string& text, const Bindings& bound = {}) {
  std::vector<int> found;
  for (const Sm90Likeness& one : likeness_of(text, bound)) found.push_back(one.leader);
  return found;
}

/// Columns cut in two, of P and Q.
std::string two(const std::string& params, const std::string& outputs, const std::string& body) {
  return "kernel k(a: bf16[M, K], b: bf16[P + Q, K]" + params + ") -> (" + outputs +
         ") {\n  let (c, d) = split(a @ b.T, P, Q)\n" + body + "}\n";
}

}  // namespace

TEST_CASE("keys use the code of queries") {
  const auto found = likeness_of(
      "kernel qkv(h: bf16[M, D], w: bf16[(Hq + 2*Hkv)*Dh, D], r: f32[M], cos: f32[M, Dh/2], sin: f32[M, Dh/2])\n"
      "    -> (q: bf16[M, Hq, Dh], k: bf16[M, Hkv, Dh], v: bf16[M, Hkv, Dh]) {\n"
      "  let (a, b, c) = split((h @ w.T) * r, Hq*Dh, Hkv*Dh, Hkv*Dh)\n"
      "  q = rope(group(a, Dh), cos, sin)\n  k = rope(group(b, Dh), cos, sin)\n  v = group(c, Dh)\n}\n",
      {{"Dh", 32}});
  REQUIRE(found.size() == 3);
  CHECK(found[0].leader == 0);
  CHECK(found[1].leader == 0);
  CHECK(found[2].leader == 2);
  CHECK(found[1].own(Dim::symbol("Hq")) == Dim::symbol("Hkv"));
  CHECK(found[1].own(Dim::symbol("M")) == Dim::symbol("M"));
  const auto pointer = [](int param) { return WordSpec{WordSpec::Kind::Pointer, param, -1, {}}; };
  CHECK(found[1].own(pointer(5)).param == 6);  // q: k
  CHECK(found[1].own(pointer(2)).param == 2);  // the norm's factor
}

TEST_CASE("regions that read their own parameters are twins") {
  const std::string outputs = "p: bf16[M, P], q: bf16[M, Q]";
  CHECK(leaders(two(", u: f32[P], v: f32[Q]", outputs, "  p = gelu(c + u)\n  q = gelu(d + v)\n")) == std::vector{0, 0});
  CHECK(leaders(two(", t: bf16[M, P], u: bf16[M, Q], s: f32[M]", outputs,
                    "  p = t + s * max(c, 0)\n  q = u + s * max(d, 0)\n")) == std::vector{0, 0});
  CHECK(leaders(two(", f: f32, g: f32", outputs, "  p = f * c\n  q = g * d\n")) == std::vector{0, 0});
  CHECK(leaders("kernel k(a: bf16[M, K], b: bf16[P + Q + R + S, K])\n"
                "    -> (p: bf16[M, P], q: f32[M, Q], r: bf16[M, R], s: f32[M, S]) {\n"
                "  let (c, d, e, f) = split(a @ b.T, P, Q, R, S)\n  p = c\n  q = d\n  r = e\n  s = f\n}\n") ==
        std::vector{0, 1, 0, 1});
}

TEST_CASE("regions that differ in more than names have code of their own") {
  const std::string outputs = "p: bf16[M, P], q: bf16[M, Q]";
  const std::vector<int> apart = {0, 1};
  const auto check = [&](const std::string& params, const std::string& out, const std::string& body) {
    INFO(body);
    CHECK(leaders(two(params, out, body)) == apart);
  };
  check("", outputs, "  p = 2 * c\n  q = 3 * d\n");
  check("", outputs, "  p = exp(c)\n  q = sin(d)\n");
  check("", outputs, "  p = bf16(c) * c\n  q = f16(d) * d\n");
  check("", "p: bf16[M, P], q: f32[M, Q]", "  p = c\n  q = d\n");
  check(", t: bf16[M, P], u: f32[M, Q]", outputs, "  p = c + t\n  q = d + u\n");
  check(", u: f32[P], v: f32[M]", outputs, "  p = c + u\n  q = d + v\n");
  // The extent of one of them is a number in what both compute.
  check(", n: f32[P]", outputs, "  p = c * P\n  q = d * P\n");
  // What is asked for by one symbol would have to be called by two.
  check(", u: f32[P]", "p: bf16[M, P], q: bf16[M, Q], o: f32[M, P]", "  p = c\n  o = c\n  q = d\n");
  // Whole rows and columns have partial states, which have their places.
  check("", "p: bf16[M, P], q: bf16[M, Q], s: f32[M]", "  p = c\n  q = d\n  s = sum(c, over = P)\n");
  check("", "p: bf16[M, P], q: bf16[M, Q], s: f32[P], t: f32[Q]",
        "  p = c\n  q = d\n  s = sum(c, over = M)\n  t = sum(d, over = M)\n");
  CHECK(leaders(two("", outputs, "  p = c\n  q = d\n"), {{"P", 64}, {"Q", 96}}) == apart);
  // Two parameters for one, and one for two.
  check(", t: bf16[M, P], u: bf16[M, Q], v: bf16[M, Q]", outputs, "  p = c * t + sin(t)\n  q = d * u + sin(v)\n");
}

TEST_CASE("columns' numbers and masks follow the region") {
  const std::string outputs = "p: bf16[M, P], q: bf16[M, Q]";
  CHECK(leaders(two("", outputs, "  p = select(index(P) < 5, c, 0)\n  q = select(index(Q) < 5, d, 0)\n")) ==
        std::vector{0, 0});
  CHECK(leaders(two("", outputs, "  p = select(index(P) < 5, c, 0)\n  q = select(index(Q) < 6, d, 0)\n")) ==
        std::vector{0, 1});
}

}  // namespace coda
