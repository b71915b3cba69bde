// Blocks whose products multiply two activations, with a softmax between them and heads that are flattened before the
// next product, on the host, forward and backward, beside the reference of their source.
#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>

#include "tests/cli/run_block.h"
#include "tests/source_root.h"

using namespace coda;
using namespace coda::testing;

namespace {

/// What a rounding to bf16 that falls to the other neighbour does.
constexpr double kCast = 0x1p-8;

void expect_right(const std::string& text, const Bindings& dims, BlockOptions options) {
  const BlockRun run = run_block(text, dims, options);
  INFO(options.routine << "\n" << run.message);
  REQUIRE(run.compiled);
  CHECK(run.right);
}

std::string example(const std::string& name) {
  std::ostringstream text;
  text << std::ifstream(source_root() + "/" + name).rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("a block with attention inside, and its gradient") {
  const std::string text = example("examples/models/attention.coda") + "\ngrad attention wrt (x, norm, wqkv, wo)\n";
  for (const int64_t rows : {37, 1}) {
    const Bindings dims{{"B", 2}, {"T", rows}, {"D", 40}, {"H", 2}};
    for (const char* routine : {"attention", "attention_grad"})
      expect_right(text, dims, {.routine = routine, .inputs = {}, .apart = kCast});
  }
  // Many heads: a row's statistics are then large tensors themselves.
  expect_right(
      text, {{"B", 2}, {"T", 5}, {"D", 24}, {"H", 3}},
      {.planned_for = {{"B", 8}, {"T", 256}, {"D", 512}}, .routine = "attention_grad", .inputs = {}, .apart = kCast});
}

TEST_CASE("attention of given queries, keys and values") {
  const char* masked = R"(
block masked(q: bf16[B, T, H, Dh], k: bf16[B, S, H, Dh], v: bf16[B, S, H, Dh], n: i32[B]) -> (o: bf16[B, T, H, Dh]) {
    let s = softcap(0.25 * sum(q * k, over = Dh), 50)
    let p: bf16 = softmax(select(index(S) < n, s, -infinity()))
    o = sum(p * v, over = S)
}
)";
  expect_right(masked, {{"B", 2}, {"T", 37}, {"S", 41}, {"H", 3}, {"Dh", 16}}, {.inputs = {"n=integers(20, 41)"}});
  const char* heads = R"(
block heads(q: bf16[H, T, Dh], k: bf16[H, T, Dh], v: bf16[H, T, Dh]) -> (o: bf16[T, H*Dh], lse: f32[H, T]) {
    let s = 0.25 * (q @ k[T as S].T)
    lse = logsumexp(s, over = S)
    let p: bf16 = exp(s - lse)
    o = flatten(sum(p * v[T as S], over = S), dim = (H, Dh))
}
)";
  for (const int64_t rows : {37, 1, 0}) {
    if (rows > 0) expect_right(heads, {{"T", rows}, {"H", 3}, {"Dh", 16}}, {.inputs = {}});
  }
  const char* one = R"(
block one(x: bf16[T, D], y: bf16[S, D], wq: bf16[Dh, D], wk: bf16[Dh, D], wv: bf16[Dh, D]) -> (o: bf16[T, Dh]) {
    let q: bf16 = x @ wq.T
    let k: bf16 = y @ wk.T
    let v: bf16 = y @ wv.T
    let p: bf16 = softmax(0.25 * (q @ k.T))
    o = p @ v
}

grad one wrt (x, y, wq, wk, wv)
)";
  const Bindings dims{{"T", 37}, {"S", 41}, {"D", 40}, {"Dh", 16}};
  for (const char* routine : {"one", "one_grad"}) expect_right(one, dims, {.routine = routine});
}

TEST_CASE("heads whose number isn't given are planned for, and right") {
  expect_right(example("tests/grad/plans/qwen3.coda"),
               {{"T", 21}, {"D", 40}, {"A", 24}, {"F", 33}, {"Hq", 3}, {"Hk", 8}, {"Dh", 128}},
               {.slack = 2,
                .planned_for = {{"T", 4096}, {"D", 4096}, {"A", 4096}, {"F", 12288}, {"Hq", 4096}},
                .routine = "qwen3_grad"});
}

TEST_CASE("statistics over different parts of the rows are several kernels of a plan") {
  const char* text = R"(
block batched(x: bf16[B, T, K], w: bf16[B, N, K]) -> (s: f32[B, N], u: f32[N], r: f32[B, T], a: f32[T, N]) {
    let z = x @ w.T
    s = sum(z*z, over = T)
    u = sum(z*z, over = (B, T))
    r = max(z, over = N)
    a = absmax(z, over = B)
}
block shared(x: bf16[B, T, K], w: bf16[N, K], v: bf16[P, N]) -> (s: f32[B, N], u: f32[T, N], y: f32[B, P]) {
    let z = x @ w.T
    s = max(z, over = T)
    u = max(z, over = B)
    y = sum(z, over = T) @ v.T
}
block passed(x: bf16[B, T, N]) -> (s: f32[B, N], u: f32[N], r: f32[B, T], v: f32[B], t: f32[T, N]) {
    s = sum(x, over = T)
    u = sum(x, over = (B, T))
    v = sum(x, over = (N, T))
    r = sum(x, over = N)
    t = max(x, over = B)
}
)";
  for (const int64_t rows : {37, 1}) {
    expect_right(text, {{"B", 3}, {"T", rows}, {"N", 20}, {"K", 24}}, {.routine = "batched"});
    expect_right(text, {{"B", 3}, {"T", rows}, {"N", 20}, {"K", 24}, {"P", 9}}, {.routine = "shared"});
    expect_right(text, {{"B", 3}, {"T", rows}, {"N", 20}}, {.routine = "passed"});
  }
}

TEST_CASE("gathers of given and of computed rows") {
  const char* text = R"(
block first(x: bf16[T, D], t: i32[M], w: bf16[F, D], v: bf16[D, F]) -> (y: bf16[M, D]) {
    let h: bf16 = silu(gather(x, T = t) @ w.T)
    y = h @ v.T
}
block between(x: bf16[T, D], t: i32[M], w: bf16[F, D], v: bf16[D, F]) -> (y: bf16[M, D]) {
    let h: bf16 = silu(x @ w.T)
    y = gather(h, T = t) @ v.T
}
block last(x: bf16[T, D], t: i32[M, J], p: f32[M, J], w: bf16[F, D]) -> (y: bf16[M, F]) {
    let h = silu(x @ w.T)
    y = sum(p * gather(h, T = t), over = J)
}
block experts(x: bf16[T, D], t: i32[M, J], p: f32[M, J], w: bf16[2*F, D], v: bf16[D, F]) -> (y: bf16[M, D]) {
    let h: bf16 = swiglu(gather(x, T = t) @ w.T)
    y = sum(p * (h @ v.T), over = J)
}
)";
  for (const char* routine : {"first", "between", "last", "experts"}) {
    for (const int64_t rows : {50, 1}) {
      Bindings dims{{"T", 31}, {"M", rows}, {"D", 24}, {"F", 40}};
      if (routine == std::string("last") || routine == std::string("experts")) dims["J"] = 3;
      expect_right(text, dims, {.slack = 2, .routine = routine, .inputs = {"t=integers(0, 33)"}});
    }
  }
}
