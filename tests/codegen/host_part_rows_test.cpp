// Statistics over a part of the rows, and gathered rows, on the host: ragged and empty sizes, several tiles of rows,
// statistics of every scope.
#include <catch2/catch.hpp>

#include "host_case.h"

using namespace coda;
using namespace coda::test;

TEST_CASE("host: statistics over a part of the rows", "[host]") {
  const std::vector<Bindings> sizes = {
      {{"B", 1}, {"C", 1}, {"T", 1}, {"N", 1}, {"K", 3}},    {{"B", 3}, {"C", 2}, {"T", 150}, {"N", 40}, {"K", 30}},
      {{"B", 2}, {"C", 3}, {"T", 20}, {"N", 300}, {"K", 9}}, {{"B", 0}, {"C", 2}, {"T", 5}, {"N", 7}, {"K", 4}},
      {{"B", 5}, {"C", 1}, {"T", 0}, {"N", 7}, {"K", 4}},    {{"B", 2}, {"C", 2}, {"T", 5}, {"N", 0}, {"K", 4}},
      {{"B", 2}, {"C", 2}, {"T", 5}, {"N", 7}, {"K", 0}},    {{"B", 40}, {"C", 1}, {"T", 3}, {"N", 5}, {"K", 8}},
      {{"B", 2}, {"C", 1}, {"T", 300}, {"N", 20}, {"K", 8}},
  };
  run_all(R"(
kernel f(x: bf16[B, T, K], w: bf16[N, K], b: f32[N], g: f32[B, N])
    -> (y: f32[B, T, N], row: f32[B, T], column: f32[B, N], peak: f32[N, B], whole: f32[B]) {
    let z = x @ w.T + b
    y = relu(z)
    row = logsumexp(z, over = N)
    column = mean(z, over = T) * g
    peak = max(z*z, over = T)
    whole = sqrt(sum(z*z, over = (T, N)))
}
)",
          sizes, {.ulps = 400});
  // The inner rows are kept, and the weights lie the other way.
  run_all(R"(
kernel f(x: f16[B, T, K], w: f16[K, 2*N]) -> (y: f16[B, T, N], column: f32[T, N], whole: f32[T]) {
    let (gate, up) = halves(x @ w)
    y = gate * up
    column = sum(gate * up, over = B)
    whole = max(up, over = (B, N))
}
)",
          sizes, {.ulps = 100});
  // Two batches, of which one is kept; and both.
  run_all(R"(
kernel f(x: bf16[C, B, T, K], w: bf16[C, B, N, K]) -> (y: f32[B, C, T, N], column: f32[B, N], whole: f32[B]) {
    let z = x @ w.T
    y = z
    column = sum(z, over = (C, T))
    whole = absmax(z, over = (C, T, N))
}
)",
          sizes, {.ulps = 100});
  run_all(R"(
kernel f(x: bf16[B, C, T, K], w: bf16[N, K]) -> (column: f32[C, B, N], best: f32[B, C]) {
    let z = x @ w.T
    column = min(z, over = T)
    best = max(z, over = (T, N)) - min(z, over = (N, T))
}
)",
          sizes);
}

TEST_CASE("host: columns of several dimensions of unknown extent", "[host]") {
  const std::vector<Bindings> sizes = {
      {{"M", 1}, {"H", 1}, {"C", 1}, {"K", 3}},    {{"M", 150}, {"H", 3}, {"C", 40}, {"K", 30}},
      {{"M", 20}, {"H", 2}, {"C", 300}, {"K", 9}}, {{"M", 5}, {"H", 0}, {"C", 7}, {"K", 4}},
      {{"M", 5}, {"H", 3}, {"C", 0}, {"K", 4}},    {{"M", 0}, {"H", 3}, {"C", 7}, {"K", 4}},
      {{"M", 5}, {"H", 3}, {"C", 7}, {"K", 0}},
  };
  run_all(R"(
kernel f(x: bf16[M, K], w: bf16[K, H, C], g: f32[C], b: f32[M, H])
    -> (y: bf16[M, H, C], r: f32[H, M], s: f32[H, C], t: f32[H]) {
    let z = sum(x * w, over = K)
    y = z * g + b
    r = max(z, over = C)
    s = sum(z, over = M)
    t = min(z, over = (M, C))
}
)",
          sizes, {.ulps = 100});
  run_all(R"(
kernel f(x: bf16[K, M], w: bf16[H, K, C], inout d: f32[H, C, M]) {
    d += sum(x * w, over = K)
}
)",
          sizes);
}

TEST_CASE("host: the non-finite stays in its part of the rows", "[host]") {
  run_all(R"(
kernel f(x: f32[B, T, K], w: f32[N, K]) -> (column: f32[B, N], peak: f32[B, N], whole: f32[B]) {
    let z = x @ w.T
    column = sum(z, over = T)
    peak = max(z, over = T)
    whole = logsumexp(z, over = (T, N))
}
)",
          {{{"B", 3}, {"T", 5}, {"N", 17}, {"K", 6}}}, {.non_finite = true, .ulps = 100});
}

TEST_CASE("host: gathered rows", "[host]") {
  const std::vector<Bindings> sizes = {
      {{"M", 1}, {"J", 1}, {"T", 3}, {"N", 1}, {"K", 3}},    {{"M", 150}, {"J", 2}, {"T", 5}, {"N", 40}, {"K", 300}},
      {{"M", 20}, {"J", 3}, {"T", 1}, {"N", 300}, {"K", 9}}, {{"M", 0}, {"J", 2}, {"T", 4}, {"N", 7}, {"K", 4}},
      {{"M", 9}, {"J", 2}, {"T", 0}, {"N", 7}, {"K", 4}},    {{"M", 9}, {"J", 2}, {"T", 4}, {"N", 7}, {"K", 0}},
  };
  for (const std::string type : {"i32", "i64", "u8", "i8"}) {
    INFO(type);
    run_all("kernel f(x: bf16[T, K], t: " + type + "[M], w: bf16[N, K], r: f32[M]) -> (y: bf16[M, N], s: f32[N]) {\n" +
                "    let z = r * (gather(x, T = t) @ w.T)\n    y = z\n    s = sum(z, over = M)\n}\n",
            sizes, {.ulps = 100});
  }
  run_all(R"(
kernel f(x: f16[K, T], t: i32[M], w: f16[K, 2*N]) -> (y: f32[M, N], row: f32[M], whole: f32) {
    let (gate, up) = halves(gather(x, T = t).T @ w)
    y = relu(gate) * up
    row = max(up, over = N)
    whole = sum(gate, over = (M, N))
}
)",
          sizes, {.ulps = 100});
  // Of the columns' operand: some words of a vocabulary.
  run_all(R"(
kernel f(x: bf16[M, K], v: bf16[T, K], t: i64[N]) -> (y: f32[M, N], lse: f32[M]) {
    let z = x @ gather(v, T = t).T
    y = z
    lse = logsumexp(z, over = N)
}
)",
          sizes, {.ulps = 100});
}
