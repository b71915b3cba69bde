// Kernels with statistics and a finish stage, against the reference meaning of the source.
#include <catch2/catch.hpp>

#include "cases.h"

namespace coda::test {

TEST_CASE("statistics and the finish stage", "[programs]") {
  const std::vector<Case> cases = {
      {"every reduction over rows",
       R"(
kernel f(x: bf16[M, K], w: bf16[N, K], b: f32[N], r: f32[M])
    -> (a: f32[M], c: f32[M], d: f32[M], e: f32[M], g: f32[M], h: f32[M]) {
    let z = r * (x @ w.T) + b
    a = sum(z*z, over = N)
    c = rsqrt(mean(z*z, over = N) + 1e-5) * r
    d = max(z, over = N)
    e = min(z, over = N)
    g = absmax(z, over = N)
    h = logsumexp(z, over = N)
})",
       {{{"M", 3}, {"N", 5}, {"K", 4}}},
       {}},
      {"columns",
       R"(
kernel f(x: bf16[M, K], w: bf16[N, K], b: f32[N]) -> (y: f32[M, N], s: f32[N], t: f32[N]) {
    let z = x @ w.T + b
    y = z
    s = sum(z, over = M) * b
    t = max(z, over = M) - min(z, over = M)
})",
       {{{"M", 3}, {"N", 5}, {"K", 4}}},
       {}},
      {"columns of halves",
       R"(
kernel f(x: bf16[M, K], w: bf16[2*F, K]) -> (y: f32[M, F], s: f32[2*F], t: f32[F]) {
    let z = x @ w.T
    let (a, b) = halves(z)
    y = a * b
    s = sum(z, over = M)
    let (sa, sb) = halves(sum(z*z, over = M))
    t = sa / (1 + sb)
})",
       {{{"M", 3}, {"F", 4}, {"K", 2}}},
       {}},
      {"columns of heads",
       R"(
kernel f(x: bf16[M, K], w: bf16[H*Dh, K]) -> (s: f32[H, Dh], t: f32[H]) {
    let z = group(x @ w.T, Dh)
    s = sum(z, over = M)
    t = sum(sum(z*z, over = M), over = Dh)
})",
       {{{"M", 3}, {"H", 2}, {"Dh", 4}, {"K", 2}}},
       {{"Dh", 4}}},
      {"statistics of whole columns beside a group's, which only one role of the operands allows",
       R"(
kernel f(x: bf16[M, K], w: bf16[2*H*Dh, K]) -> (s: f32[2*H, Dh], t: f32[M]) {
    let z = group(x @ w.T, Dh)
    s = max(z, over = M)
    t = sum(z * rsqrt(mean(z*z, over = Dh) + 1), over = (2*H, Dh))
})",
       {{{"M", 3}, {"H", 2}, {"Dh", 4}, {"K", 2}}},
       {{"Dh", 4}}},
      {"a part of a join, which ends inside the last piece",
       R"(
kernel f(x: bf16[M, K], w: bf16[4*H*Dh, K]) -> (y: f32[M, 7*H, Dh], s: f32[M]) {
    let z = x @ w.T
    let (a, b) = split(join_halves(silu(z), z), 7*H*Dh, H*Dh)
    y = group(a, Dh)
    s = sum(b, over = H*Dh)
})",
       {{{"M", 3}, {"H", 2}, {"Dh", 4}, {"K", 2}}},
       {{"Dh", 4}}},
      {"a part of a join, which begins inside the first piece",
       R"(
kernel f(x: bf16[M, K], w: bf16[4*H*Dh, K]) -> (y: f32[M, H*Dh], t: f32[M, 7*H, Dh]) {
    let z = x @ w.T
    let (a, b) = split(join_halves(silu(z), z), H*Dh, 7*H*Dh)
    y = a
    t = group(b, Dh)
})",
       {{{"M", 3}, {"H", 2}, {"Dh", 4}, {"K", 2}}},
       {{"Dh", 4}}},
      {"values of two columns beside values of four",
       R"(
kernel f(x: bf16[M, K], w: bf16[4*N, K], r: f32[M]) -> (y: f32[M, 2*N], s: f32[M], t: f32[M]) {
    let (a, b) = pairs((x @ w.T) * r)
    let (c, d) = pairs(a * b)
    y = a * b
    s = logsumexp(c, over = N)
    t = sum(a * b * b, over = 2*N)
})",
       {{{"M", 3}, {"N", 5}, {"K", 2}}},
       {}},
      {"everything",
       R"(
kernel f(x: bf16[M, K], w: bf16[N, K], r: f32[M]) -> (y: f32[M, N], s: f32, t: f32) {
    let z = r * (x @ w.T)
    y = z
    s = sqrt(sum(z*z, over = (M, N)))
    t = absmax(z, over = (M, N))
})",
       {{{"M", 3}, {"N", 5}, {"K", 4}}},
       {}},
      {"a sum of sums",
       R"(
kernel f(x: bf16[M, K], w: bf16[N, K], r: f32[M]) -> (s: f32) { s = sum(r * sum(x @ w.T, over = N), over = M) })",
       {{{"M", 3}, {"N", 5}, {"K", 4}}},
       {}},
      {"columns of each batch",
       R"(
kernel f(x: bf16[B, T, K], w: bf16[N, K], b: f32[N]) -> (y: f32[B, T, N], s: f32[B, N], m: f32[N, B], r: f32[B, T]) {
    let z = x @ w.T + b
    y = z
    s = mean(z, over = T) * b
    m = max(z*z, over = T)
    r = logsumexp(z, over = N)
})",
       {{{"B", 3}, {"T", 4}, {"N", 5}, {"K", 4}}, {{"B", 1}, {"T", 7}, {"N", 2}, {"K", 1}}},
       {}},
      {"the whole of each batch",
       R"(
kernel f(x: bf16[B, C, T, K], w: bf16[N, K], r: f32[B, C]) -> (s: f32[B, C], m: f32[C, B]) {
    let z = x @ w.T
    s = sqrt(sum(z*z, over = (T, N))) * r
    m = absmax(z, over = (N, T))
})",
       {{{"B", 3}, {"C", 2}, {"T", 4}, {"N", 5}, {"K", 4}}},
       {}},
      {"the outer rows of each inner one, of several products",
       R"(
kernel f(x: bf16[B, T, K], w: bf16[2*F, K], u: bf16[B, T, R], v: bf16[2*F, R])
    -> (y: f32[B, T, F], s: f32[T, F], a: f32[T]) {
    let (p, q) = halves(x @ w.T + 0.5 * (u @ v.T))
    y = p * q
    s = sum(p * q, over = B)
    a = max(p, over = (B, F))
})",
       {{{"B", 3}, {"T", 2}, {"F", 3}, {"K", 4}, {"R", 2}}},
       {}},
      {"columns of two dimensions of unknown extent",
       R"(
kernel f(x: bf16[M, K], w: bf16[K, H, C], g: f32[C], b: f32[M, H])
    -> (y: f32[M, H, C], r: f32[H, M], s: f32[H, C], t: f32[H]) {
    let z = sum(x * w, over = K)
    y = z * g + b
    r = max(z, over = C)
    s = sum(z*z, over = M)
    t = min(z, over = (M, C))
})",
       {{{"M", 3}, {"H", 2}, {"C", 5}, {"K", 4}}, {{"M", 1}, {"H", 3}, {"C", 1}, {"K", 2}}},
       {}},
      {"groups of columns of each batch",
       R"(
kernel f(x: bf16[B, T, K], w: bf16[G*C, K]) -> (s: f32[B, G], t: f32[B, G, C]) {
    let z = group(x @ w.T, C)
    s = sum(z*z, over = (T, C))
    t = min(z, over = T)
})",
       {{{"B", 3}, {"T", 2}, {"G", 3}, {"C", 4}, {"K", 4}}},
       {{"C", 4}}},
      {"the rows of a product for each of two batches",
       R"(
kernel f(x: bf16[B, H, T, K], w: bf16[B, H, N, K]) -> (y: f32[B, H, T, N], s: f32[B, H, N], m: f32[B, H]) {
    let z = x @ w.T
    y = z
    s = sum(z, over = T)
    m = max(z, over = (T, N))
})",
       {{{"B", 2}, {"H", 3}, {"T", 2}, {"N", 3}, {"K", 4}}},
       {}},
      {"the inner batch and the rows of a product for each of two batches",
       R"(
kernel f(x: bf16[H, B, T, K], w: bf16[H, B, N, K]) -> (y: f32[B, H, T, N], s: f32[B, N], m: f32[B]) {
    let z = x @ w.T
    y = z
    s = sum(z, over = (H, T))
    m = max(z, over = (H, T, N))
})",
       {{{"B", 2}, {"H", 3}, {"T", 2}, {"N", 3}, {"K", 4}}},
       {}},
      {"statistics of halves",
       R"(
kernel f(x: bf16[M, K], w: bf16[2*F, K]) -> (y: f32[M, F], s: f32[M], m: f32[M]) {
    let z = x @ w.T
    let (a, b) = halves(z)
    y = silu(a) * b
    s = sum(silu(a)*b, over = F)
    m = max(z, over = 2*F)
})",
       {{{"M", 3}, {"F", 4}, {"K", 2}}},
       {}},
      {"statistics across regions",
       R"(
kernel f(x: bf16[M, K], w: bf16[A + B, K]) -> (a: f32[M, A], s: f32[M], c: f32[A + B]) {
    let z = x @ w.T
    let (p, q) = split(z, A, B)
    a = p
    s = logsumexp(concat(p, 2*q), over = A + B)
    c = sum(z, over = M)
})",
       {{{"M", 3}, {"A", 4}, {"B", 2}, {"K", 2}}},
       {}},
      {"the sum over heads of their greatest",
       R"(
kernel f(x: bf16[M, K], w: bf16[H*Dh, K]) -> (s: f32[M]) {
    s = sum(max(group(x @ w.T, Dh), over = Dh), over = H)
})",
       {{{"M", 3}, {"H", 2}, {"Dh", 4}, {"K", 2}}},
       {{"Dh", 4}}},
      {"statistics of what is stored",
       R"(
kernel f(x: bf16[M, K], w: bf16[N, K], r: bf16[M, N], g: f32[M]) -> (h: bf16[M, N], p: bf16[M, N], s: f32[M], t: f32[M]) {
    let z = r + x @ w.T
    h = z
    p = z * g
    s = sum(z*z, over = N)
    t = sum(z*g, over = N)
})",
       {{{"M", 3}, {"N", 5}, {"K", 4}}},
       {},
       1e-2},
      {"smoothed cross-entropy",
       R"(
kernel f(x: bf16[M, D], w: bf16[V, D], t: i64[M], e: f32) -> (loss: f32[M]) {
    let z = softcap(x @ w.T, 30)
    loss = logsumexp(z, over = V) - (1 - e) * gather(z, V = t) - e * mean(z, over = V)
})",
       {{{"M", 6}, {"D", 3}, {"V", 7}}},
       {}},
      {"rows of a batch",
       R"(
kernel f(x: bf16[B, S, K], w: bf16[N, K]) -> (m: f32[B, S], s: f32[S, B], c: f32[N]) {
    let z = x @ w.T
    m = max(z, over = N)
    s = sum(z, over = N)
    c = mean(z, over = (B, S))
})",
       {{{"B", 2}, {"S", 3}, {"N", 4}, {"K", 2}}},
       {}},
      {"a parameter gathered by row",
       R"(
kernel f(x: bf16[M, K], w: bf16[N, K], table: f32[P, N], i: i32[M]) -> (y: f32[M, N]) {
    y = x @ w.T + gather(table, P = i)
})",
       {{{"M", 5}, {"N", 4}, {"K", 2}, {"P", 4}}},
       {}},
      {"an output of rows alone",
       R"(
kernel f(x: bf16[M, K], w: bf16[N, K], r: f32[M], b: f32[N]) -> (y: f32[M, N], q: f32[M], c: f32[N]) {
    y = r * (x @ w.T)
    q = 2*r
    c = b + 1
})",
       {{{"M", 3}, {"N", 5}, {"K", 4}}},
       {}},
      {"an inout statistic",
       R"(
kernel f(x: bf16[M, K], w: bf16[N, K], inout best: f32[M], inout total: f32[N]) {
    best = max(best, max(x @ w.T, over = N))
    total += sum(x @ w.T, over = M)
})",
       {{{"M", 3}, {"N", 5}, {"K", 4}}},
       {}},
  };
  for (const Case& c : cases) check(c);
}

}  // namespace coda::test
