// Sums of products in one accumulator, and batches of products: the lowered form computes what the source means.
#include <catch2/catch.hpp>

#include "cases.h"

namespace coda::test {

namespace {

const std::vector<Bindings> kTwo = {{{"M", 3}, {"N", 5}, {"K", 4}, {"R", 2}},
                                    {{"M", 1}, {"N", 1}, {"K", 1}, {"R", 1}},
                                    {{"M", 3}, {"N", 5}, {"K", 0}, {"R", 2}},
                                    {{"M", 3}, {"N", 5}, {"K", 4}, {"R", 0}},
                                    {{"M", 0}, {"N", 5}, {"K", 4}, {"R", 2}}};
const std::vector<Bindings> kBatch = {{{"B", 3}, {"H", 2}, {"M", 4}, {"N", 5}, {"K", 3}},
                                      {{"B", 1}, {"H", 1}, {"M", 1}, {"N", 1}, {"K", 1}},
                                      {{"B", 0}, {"H", 2}, {"M", 4}, {"N", 5}, {"K", 3}},
                                      {{"B", 2}, {"H", 3}, {"M", 0}, {"N", 5}, {"K", 3}},
                                      {{"B", 2}, {"H", 1}, {"M", 4}, {"N", 5}, {"K", 0}}};

}  // namespace

TEST_CASE("products that are summed", "[programs]") {
  const std::vector<Case> cases = {
      {"a scalar on the small one",
       R"(
kernel f(x: bf16[M, K], w: bf16[N, K], a: bf16[M, R], b: bf16[N, R], s: f32) -> (y: f32[M, N]) {
    y = x @ w.T + s * (a @ b.T)
})",
       kTwo,
       {}},
      {"a scalar on the large one, a difference, a quotient",
       R"(
kernel f(x: bf16[M, K], w: bf16[K, N], a: bf16[R, M], b: bf16[N, R], s: f32) -> (y: f32[M, N]) {
    y = 3 * (x @ w) / s - 2 * (a.T @ b.T)
})",
       kTwo,
       {}},
      {"factors of both, and what is no product",
       R"(
kernel f(x: bf16[M, K], w: bf16[N, K], a: bf16[M, R], b: bf16[N, R], r: f32[M], t: f32[M, N], s: f32) -> (y: f32[M, N], z: f32[M]) {
    let u = r * (x @ w.T) + t + r * s * (a @ b.T) - 1
    y = gelu(u)
    z = sum(u*u, over = N)
})",
       kTwo,
       {}},
      {"sums in sums, nested scalars",
       R"(
kernel f(x: bf16[M, K], w: bf16[N, K], a: bf16[M, R], b: bf16[N, R], c: bf16[N, R], p: f32, q: f32) -> (y: f32[M, N]) {
    y = p * (q * (a @ b.T) + a @ c.T) + (x @ w.T + 1)
})",
       kTwo,
       {}},
      {"halves of the sum",
       R"(
kernel f(x: bf16[M, K], w: bf16[2*N, K], a: bf16[M, R], b: bf16[2*N, R], s: f32) -> (y: f32[M, N]) {
    let (gate, up) = halves(x @ w.T + s * (a @ b.T))
    y = silu(gate) * up
})",
       kTwo,
       {}},
      {"renamed rows, rows of two dimensions",
       R"(
kernel f(x: bf16[M, R, K], w: bf16[N, K], a: bf16[M, R, K], b: bf16[N as P, K]) -> (y: f32[M, R, N]) {
    y = x @ w.T + a @ b[P as N].T
})",
       kTwo,
       {}},
      {"a gradient's three",
       R"(
kernel f(x: bf16[M, K], w: bf16[K, N], a: bf16[M, R], b: bf16[R, N], c: bf16[M, R], d: bf16[R, N]) -> (y: f32[M, N], s: f32[N]) {
    let z = x @ w + a @ b + c @ d
    y = z
    s = sum(z, over = M)
})",
       kTwo,
       {}},
  };
  for (const Case& c : cases) check(c);
}

TEST_CASE("several summed dimensions", "[programs]") {
  const std::vector<Case> cases = {
      {"in one order",
       R"(
kernel f(x: bf16[M, H, K], w: bf16[N, H, K]) -> (y: f32[M, N]) {
    y = sum(x * w, over = (H, K))
})",
       kBatch,
       {}},
      {"in two orders, around the outer dimension, a batch",
       R"(
kernel f(x: bf16[K, B, M, H], w: bf16[H, N, B, K], v: bf16[B, N]) -> (y: f32[B, M, N]) {
    y = sum(x * w, over = (H, K)) + v
})",
       kBatch,
       {}},
      {"joined in one operand",
       R"(
kernel f(x: bf16[M, H, K], w: bf16[N, H*K]) -> (y: f32[M, N]) {
    y = flatten(x) @ w.T
})",
       kBatch,
       {}},
      {"one of two products",
       R"(
kernel f(x: bf16[M, H, K], w: bf16[H, K, N], a: bf16[M, B], b: bf16[N, B], s: f32) -> (y: f32[M, N], z: f32[M]) {
    let u = sum(x * w, over = (K, H)) + s * (a @ b.T)
    y = u
    z = max(u, over = N)
})",
       kBatch,
       {}},
  };
  for (const Case& c : cases) check(c);
}

TEST_CASE("a product for each of a batch", "[programs]") {
  const std::vector<Case> cases = {
      {"one dimension, a vector of each product",
       R"(
kernel f(x: bf16[B, M, K], w: bf16[B, K, N], b: f32[B, N], r: f32[M], t: f32[B, M, N]) -> (y: f32[B, M, N]) {
    y = r * (x @ w) + b + t
})",
       kBatch,
       {}},
      {"two dimensions, a mask, statistics of rows",
       R"(
kernel f(q: bf16[B, H, M, K], k: bf16[B, H, N, K], s: f32) -> (y: f32[B, H, M, N], z: f32[B, H, M]) {
    let u = select(index(N) <= index(M), s * (q @ k.T), -5)
    y = u
    z = logsumexp(u, over = N)
})",
       kBatch,
       {}},
      {"the batch inside, stored elsewhere",
       R"(
kernel f(q: bf16[M, H, K], k: bf16[N, H, K]) -> (y: f32[M, H, N], z: f32[N]) {
    let u = sum(q * k, over = K)
    y = u
    z = max(u, over = (M, H))
})",
       kBatch,
       {}},
      {"groups of heads share keys",
       R"(
kernel f(q: bf16[B, H, M, K], k: bf16[B, N, K]) -> (y: f32[B, H, M, N], z: f32) {
    let u = sum(q * k, over = K)
    y = u
    z = sum(u*u, over = (B, H, M, N))
})",
       kBatch,
       {}},
      {"halves in each",
       R"(
kernel f(x: bf16[B, M, K], w: bf16[B, 2*N, K]) -> (y: f32[B, M, N]) {
    let (gate, up) = halves(x @ w.T)
    y = silu(gate) * up
})",
       kBatch,
       {}},
      {"sums of two",
       R"(
kernel f(x: bf16[B, M, K], w: bf16[B, N, K], a: bf16[B, M, H], b: bf16[B, N, H], s: f32) -> (y: f32[B, M, N], z: f32[N]) {
    let u = x @ w.T + s * (a @ b.T)
    y = u
    z = absmax(u, over = (B, M))
})",
       kBatch,
       {}},
  };
  for (const Case& c : cases) check(c);
}

}  // namespace coda::test
