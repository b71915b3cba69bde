// Blocks whose products come in batches, and whose losses are statistics of statistics, on the host, beside the
// reference of their source.
#include <catch2/catch.hpp>

#include "tests/cli/run_block.h"

using namespace coda;
using namespace coda::testing;

namespace {

void expect(const std::string& text, const Bindings& dims, const std::string& routine, int kernels,
            std::vector<std::string> inputs = {}) {
  const BlockRun run = run_block(text, dims, {.routine = routine, .inputs = std::move(inputs)});
  INFO(routine << "\n" << run.message);
  REQUIRE(run.compiled);
  CHECK(run.right);
  CHECK(run.kernels == kernels);
}

}  // namespace

TEST_CASE("scores of a sequence with itself are a product for each batch") {
  const char* text = R"(
block scores(x: bf16[B, S, D], w: bf16[Dh, D], u: bf16[Dh, D]) -> (s: bf16[B, S, S as T]) {
    let q: bf16 = x @ w.T
    let k: bf16 = x @ u.T
    s = q @ k[S as T].T
}
)";
  expect(text, {{"B", 3}, {"S", 33}, {"D", 40}, {"Dh", 16}}, "scores", 3);
  expect(text, {{"B", 1}, {"S", 1}, {"D", 9}, {"Dh", 3}}, "scores", 3);
}

TEST_CASE("a batched product of a batched product, and a norm before one") {
  const char* two = R"(
block two(q: bf16[B, M, K], k: bf16[B, N, K], v: bf16[B, N, D]) -> (y: bf16[B, M, D]) {
    let s = exp(q @ k.T)
    y = s @ v
}
)";
  expect(two, {{"B", 3}, {"M", 33}, {"N", 35}, {"K", 16}, {"D", 9}}, "two", 2);
  const char* norm = R"(
block one(q: bf16[B, M, K], k: bf16[B, N, K], g: bf16[K]) -> (y: bf16[B, M, N]) {
    y = rmsnorm(q, g) @ k.T
}
)";
  expect(norm, {{"B", 3}, {"M", 33}, {"N", 35}, {"K", 16}}, "one", 2);
}

TEST_CASE("experts of one capacity, both directions") {
  const char* text = R"(
block mlp(x: bf16[E, C, D], w: bf16[E, 2*F, D], v: bf16[E, D, F], g: bf16[D]) -> (y: bf16[E, C, D]) {
    let (a, b) = halves(rmsnorm(x, g) @ w.T)
    y = x + (silu(a) * b) @ v.T
}

grad mlp wrt (x, w, v, g)
)";
  const Bindings dims{{"E", 3}, {"C", 33}, {"D", 40}, {"F", 24}};
  expect(text, dims, "mlp", 3);
  const BlockRun both = run_block(text, dims, {.routine = "mlp_grad"});
  INFO(both.message);
  REQUIRE(both.compiled);
  CHECK(both.right);
}

TEST_CASE("a loss that is a mean over rows' losses takes a small pass of its own") {
  const char* text = R"(
block loss(x: bf16[M, D], gain: bf16[D], w: bf16[V, D], t: i64[M]) -> (loss: f32, per_row: f32[M]) {
    let z = rmsnorm(x, gain) @ w.T
    per_row = logsumexp(z, over = V) - gather(z, V = t)
    loss = mean(per_row, over = M)
}

grad loss wrt (x, gain, w)
)";
  for (const int64_t rows : {1, 70, 700}) {
    const Bindings dims{{"M", rows}, {"D", 48}, {"V", 130}};
    expect(text, dims, "loss", 3, {"t=integers(0, 130)"});
    const BlockRun both = run_block(text, dims, {.routine = "loss_grad", .inputs = {"t=integers(0, 130)"}});
    INFO(both.message);
    REQUIRE(both.compiled);
    CHECK(both.right);
  }
}

TEST_CASE("a gradient that comes in in f32 is rounded for the products with 16-bit operands") {
  const char* text = R"(
block f(x: bf16[M, D], w: bf16[N, D], v: bf16[N, D]) -> (z: f32[M, N], u: bf16[M, N], l: f32) {
    z = x @ w.T
    u = tanh(z) * (x @ v.T)
    l = mean(z*z, over = (M, N))
}

kernel g(x: bf16[M, D], w: bf16[N, D]) -> (z: f32[M, N]) {
    z = x @ w.T
}

grad f wrt (x, w, v)
grad g wrt (x, w)
)";
  const Bindings dims{{"M", 21}, {"N", 9}, {"D", 18}};
  for (const char* routine : {"f_grad", "f_bwd"}) {
    const BlockRun run = run_block(text, dims, {.routine = routine});
    INFO(routine << "\n" << run.message);
    REQUIRE(run.compiled);
    CHECK(run.right);
  }
  expect(text, dims, "g_bwd", 3);
}
