// Several products in one accumulator and batches of products, on the host: layouts, ragged and empty sizes, depths of
// several passes, statistics of every scope.
#include <catch2/catch.hpp>

#include "host_case.h"

using namespace coda;
using namespace coda::test;

namespace {

const std::vector<Bindings> kSums = {
    {{"M", 1}, {"N", 1}, {"K", 3}, {"R", 2}},       {{"M", 150}, {"N", 130}, {"K", 300}, {"R", 17}},
    {{"M", 31}, {"N", 300}, {"K", 20}, {"R", 600}}, {{"M", 5}, {"N", 17}, {"K", 0}, {"R", 4}},
    {{"M", 5}, {"N", 17}, {"K", 4}, {"R", 0}},      {{"M", 5}, {"N", 17}, {"K", 0}, {"R", 0}},
    {{"M", 0}, {"N", 17}, {"K", 3}, {"R", 4}},      {{"M", 7}, {"N", 0}, {"K", 3}, {"R", 4}},
};
const std::vector<Bindings> kBatches = {
    {{"B", 1}, {"H", 1}, {"M", 1}, {"N", 1}, {"K", 3}},    {{"B", 3}, {"H", 2}, {"M", 150}, {"N", 40}, {"K", 30}},
    {{"B", 2}, {"H", 3}, {"M", 20}, {"N", 300}, {"K", 9}}, {{"B", 0}, {"H", 2}, {"M", 5}, {"N", 7}, {"K", 4}},
    {{"B", 5}, {"H", 1}, {"M", 0}, {"N", 7}, {"K", 4}},    {{"B", 2}, {"H", 2}, {"M", 5}, {"N", 7}, {"K", 0}},
    {{"B", 40}, {"H", 1}, {"M", 3}, {"N", 5}, {"K", 8}},
};

}  // namespace

TEST_CASE("host: sums of products in every layout", "[host]") {
  const std::string layouts[][4] = {{"[M, K]", "[N, K]", "x @ w.T", "nt"},
                                    {"[M, K]", "[K, N]", "x @ w", "nn"},
                                    {"[K, M]", "[N, K]", "x.T @ w.T", "tt"},
                                    {"[K, M]", "[K, N]", "x.T @ w", "tn"}};
  for (const auto& [a, b, product, name] : layouts) {
    INFO(name);
    run_all("kernel f(x: bf16" + a + ", w: bf16" + b +
                ", u: bf16[M, R], v: bf16[N, R], s: f32) -> (y: f32[M, N]) {\n    y = " + product +
                " - s * (u @ v.T)\n}\n",
            kSums, {.scalars = {{"s", 0.75}}});
  }
}

TEST_CASE("host: sums of products with pieces, statistics and the non-finite", "[host]") {
  const char* gated = R"(
kernel f(x: bf16[M, K], w: bf16[2*N, K], u: bf16[M, R], v: bf16[2*N, R], s: f32, r: f32[M])
    -> (y: bf16[M, N], row: f32[M], column: f32[N], whole: f32) {
    let z = (x @ w.T + s * (u @ v.T)) * r
    let (gate, up) = halves(z)
    y = relu(gate) + up
    row = max(z, over = 2*N)
    column = sum(gate, over = M)
    whole = absmax(up, over = (M, N))
}
)";
  run_all(gated, kSums, {.scalars = {{"s", -2}}});
  run_all(gated, kSums, {.scalars = {{"s", 0}}, .non_finite = true});
  run_all(R"(
kernel f(x: f32[M, K], w: f32[N, K], a: f32[M, R], b: f32[N, R], c: f32[N, R], p: f32, q: f32) -> (y: f32[M, N]) {
    y = p * (q * (a @ b.T) + 2 * (a @ c.T)) + x @ w.T
}
)",
          kSums, {.scalars = {{"p", 0.5}, {"q", 3}}});
}

TEST_CASE("host: several summed dimensions", "[host]") {
  const std::vector<Bindings> sizes = {
      {{"B", 2}, {"H", 3}, {"M", 20}, {"N", 40}, {"K", 30}},   {{"B", 1}, {"H", 1}, {"M", 5}, {"N", 7}, {"K", 4}},
      {{"B", 2}, {"H", 7}, {"M", 150}, {"N", 30}, {"K", 150}}, {{"B", 2}, {"H", 0}, {"M", 5}, {"N", 7}, {"K", 4}},
      {{"B", 3}, {"H", 4}, {"M", 5}, {"N", 7}, {"K", 0}},
  };
  run_all("kernel f(x: bf16[M, H, K], w: bf16[N, H, K]) -> (y: bf16[M, N]) {\n    y = sum(x * w, over = (H, K))\n}\n",
          sizes);
  run_all(R"(
kernel f(x: bf16[K, B, M, H], w: bf16[H, N, B, K]) -> (y: f32[B, M, N]) {
    y = sum(x * w, over = (K, H))
}
)",
          sizes);
}

TEST_CASE("host: batches of products", "[host]") {
  run_all("kernel f(x: bf16[B, M, K], w: bf16[B, K, N], b: f32[B, N]) -> (y: bf16[B, M, N]) {\n    y = x @ w + b\n}\n",
          kBatches);
  run_all("kernel f(x: f16[B, K, M], w: f16[B, N, K]) -> (y: f32[M, B, N]) {\n    y = x.T @ w.T\n}\n", kBatches);
  run_all("kernel f(q: bf16[M, H, K], k: bf16[N, H, K]) -> (y: f32[M, H, N]) {\n    y = sum(q * k, over = K)\n}\n",
          kBatches);
  run_all(R"(
kernel f(q: bf16[B, H, M, K], k: bf16[B, H, N, K], s: f32)
    -> (y: f32[B, H, M, N], row: f32[B, H, M], column: f32[N], whole: f32) {
    let z = select(index(N) <= index(M) + index(H), s * (q @ k.T), -3)
    y = z
    row = logsumexp(z, over = N)
    column = sum(z, over = (B, H, M))
    whole = max(z, over = (B, H, M, N))
}
)",
          kBatches, {.scalars = {{"s", 0.5}}, .ulps = 400});
  run_all(R"(
kernel f(x: bf16[B, M, K], w: bf16[B, 2*N, K], u: bf16[B, M, H], v: bf16[B, 2*N, H]) -> (y: f32[B, M, N]) {
    let (gate, up) = halves(x @ w.T + u @ v.T)
    y = relu(gate) * up
}
)",
          kBatches);
  // The rows are the side that statistics leave whole, whatever the outputs' order.
  run_all(R"(
kernel f(x: f16[B, M, K], w: f16[B, N, K]) -> (y: bf16[N, B, M], r: f32[B, M]) {
    let z = x @ w.T
    y = z
    r = mean(z, over = N)
}
)",
          kBatches);
}

TEST_CASE("host: multiples of one sum of products", "[host]") {
  run_all(R"(
kernel f(x: bf16[M, K], w: bf16[K, N], u: bf16[M, R], v: bf16[R, N], c: bf16[N])
    -> (y: f32[M, N], p: f32[M, N], q: f32[M]) {
    let z = x @ w - 0.5 * (u @ v)
    y = z + c
    p = c - 2 * z
    q = sum(0.75 * z + c, over = N)
}
)",
          kSums);
}
