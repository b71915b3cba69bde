// Blocks written plainly, their plans at the sizes people run, and the plans' values at small ragged sizes.
#include <catch2/catch.hpp>

#include "../elaborate/compile.h"
#include "compiler/plan/plan.h"
#include "dsl/diagnostics.h"
#include "execute.h"
#include "shape.h"

namespace coda::test {

namespace {

const std::string kParts = R"(
fn norm(x, gain) = x * rsqrt(mean(x * x, over = last(x)) + 1e-5) * gain
fn swish(x) = x * sigmoid(x)
fn tanh_unit(x) = 0.5 * x * (1 + tanh(0.7978845608 * (x + 0.044715 * x * x * x)))
fn turn(x, cos, sin) {
  let (a, b) = halves(x)
  join_halves(a * cos - b * sin, b * cos + a * sin)
}
)";

const std::string kLlama = kParts + R"(
block llama(x: bf16[T, D], attn: bf16[T, A], wo: bf16[D, A], g1: bf16[D], g2: bf16[D], wgu: bf16[2*F, D],
            wd: bf16[D, F], wqkv: bf16[Hq*Dh + 2*Hk*Dh, D], cos: f32[T, Dh/2], sin: f32[T, Dh/2])
    -> (y: bf16[T, D], q: bf16[T, Hq, Dh], k: bf16[T, Hk, Dh], v: bf16[T, Hk, Dh])
where Dh = 8, Hk = 2 {
  let h = x + attn @ wo.T
  let (gate, up) = halves(norm(h, g1) @ wgu.T)
  let x2 = h + (swish(gate) * up) @ wd.T
  y = x2
  let (a, b, c) = split(norm(x2, g2) @ wqkv.T, Hq*Dh, Hk*Dh, Hk*Dh)
  q = turn(group(a, Dh), cos, sin)
  k = turn(group(b, Dh), cos, sin)
  v = group(c, Dh)
}
)";

const Bindings kLarge{{"T", 8192}, {"D", 4096}, {"A", 4096}, {"F", 14336},
                      {"N", 6144}, {"Hq", 32},  {"Hk", 8},   {"Dh", 128}};
const Bindings kSmall{{"T", 5}, {"D", 6}, {"A", 7}, {"F", 3}, {"N", 9}, {"Hq", 3}, {"Hk", 2}, {"Dh", 8}};

void expect(const std::string& text, const Shape& wanted, const Bindings& small = kSmall) {
  const Compiled compiled = compile(text);
  INFO(compiled.diagnostics);
  REQUIRE(compiled.program);
  SourceMap sources;
  Diagnostics diagnostics(sources);
  Plan plan;
  REQUIRE(plan_block(*compiled.program, {.sizes = kLarge, .verify = true}, plan, diagnostics));
  INFO(to_text(plan));
  CHECK(odd_kernel(plan) == "");
  const Shape shape = shape_of(plan);
  CHECK(shape.gemms == wanted.gemms);
  CHECK(shape.row_wise == wanted.row_wise);
  CHECK(shape.once == wanted.once);
  for (uint32_t seed = 1; seed <= 2; ++seed) {
    CHECK(worst_error(*compiled.program, plan, small, seed) < 1e-5);
  }
}

}  // namespace

/// attention's output, residual, norm, gated FFN, residual, norm, a projection; `norm` and `act` are definitions.
std::string gated_block(const std::string& norm, const std::string& act = "fn act(x) = swish(x)") {
  return kParts + norm + "\n" + act + R"(
block gated(x: bf16[T, D], attn: bf16[T, A], wo: bf16[D, A], g1: bf16[D], g2: bf16[D], wgu: bf16[2*F, D],
            wd: bf16[D, F], wq: bf16[N, D]) -> (y: bf16[T, D], z: bf16[T, N]) {
  let h = x + attn @ wo.T
  let (gate, up) = halves(own(h, g1) @ wgu.T)
  let x2 = h + (act(gate) * up) @ wd.T
  y = x2
  z = own(x2, g2) @ wq.T
}
)";
}

TEST_CASE("a Llama block is four GEMMs and nothing else") { expect(kLlama, {.gemms = 4}); }

TEST_CASE("norms of the user's own are no different") {
  expect(gated_block("fn own(x, g) = x / (mean(abs(x), over = last(x)) + 1e-3) * g"), {.gemms = 4});
  expect(gated_block("fn own(x, g) = x / sqrt(sqrt(mean(x*x*x*x, over = last(x)) + 1e-5)) * g",
                     "fn act(x) = max(x, 0) * max(x, 0)"),
         {.gemms = 4});
  expect(gated_block("fn own(x, g) = x * tanh(rsqrt(mean(x*x, over = last(x)) + 1e-5)) * g"), {.gemms = 4});
  expect(gated_block(
             "fn own(x, g) = x * rsqrt(mean(x*x, over = last(x)) + 1e-5) / (mean(abs(x), over = last(x)) + 1) * g"),
         {.gemms = 4});
  expect(gated_block("fn own(x, g) = tanh(0.7 * x) * g"), {.gemms = 4});
  expect(gated_block("fn own(x, g) = x * rsqrt(mean(x*x, over = last(x)) + 1e-5) * (1 + g)"), {.gemms = 4});
}

TEST_CASE("norm of the heads is complete in a tile (Qwen3)") {
  std::string text = kLlama;
  const auto replace = [&](const std::string& from, const std::string& to) {
    text.replace(text.find(from), from.size(), to);
  };
  replace("cos: f32[T, Dh/2]", "gq: bf16[Dh], gk: bf16[Dh], cos: f32[T, Dh/2]");
  replace("turn(group(a, Dh), cos, sin)", "turn(norm(group(a, Dh), gq), cos, sin)");
  replace("turn(group(b, Dh), cos, sin)", "turn(norm(group(b, Dh), gk), cos, sin)");
  expect(text, {.gemms = 4});
}

TEST_CASE("a norm of a GEMM's result feeding the residual needs a pass (Gemma-2)") {
  expect(kParts + R"(
block gemma(x: bf16[T, D], attn: bf16[T, A], wo: bf16[D, A], g0: bf16[D], g1: bf16[D], g2: bf16[D], g3: bf16[D],
            wgu: bf16[2*F, D], wd: bf16[D, F], wq: bf16[N, D]) -> (y: bf16[T, D], z: bf16[T, N]) {
  let h = x + norm(attn @ wo.T, 1 + g0)
  let (gate, up) = halves(norm(h, 1 + g1) @ wgu.T)
  let x2 = h + norm((tanh_unit(gate) * up) @ wd.T, 1 + g2)
  y = x2
  z = norm(x2, 1 + g3) @ wq.T
}
)",
         {.gemms = 4, .row_wise = 2});
}

TEST_CASE("one norm may feed two GEMMs (a parallel block)") {
  expect(kParts + R"(
block parallel(x: bf16[T, D], attn: bf16[T, A], wo: bf16[D, A], g: bf16[D], w1: bf16[F, D], w2: bf16[N, D])
    -> (y: bf16[T, F], z: bf16[T, N]) {
  let n = norm(x + attn @ wo.T, g)
  y = swish(n @ w1.T)
  z = n @ w2.T
}
)",
         {.gemms = 3});
}

TEST_CASE("a rigid cast of the norm keeps the row factor inside: one pass") {
  expect(gated_block("fn own(x, g) = bf16(x * rsqrt(mean(x*x, over = last(x)) + 1e-5) * g)"),
         {.gemms = 4, .row_wise = 2});
}

}  // namespace coda::test
