// Kernels whose lowered form is run by plain loops and compared with the reference meaning of the source.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "cases.h"
#include "tests/source_root.h"

namespace coda::test {

namespace {

std::string example(const std::string& name) {
  std::ifstream stream(source_root() + "/examples/" + name + ".coda");
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

const std::vector<Bindings> kPlain = {{{"M", 3}, {"N", 5}, {"K", 4}},
                                      {{"M", 1}, {"N", 1}, {"K", 1}},
                                      {{"M", 0}, {"N", 5}, {"K", 4}},
                                      {{"M", 3}, {"N", 0}, {"K", 4}},
                                      {{"M", 3}, {"N", 5}, {"K", 0}}};

}  // namespace

TEST_CASE("the examples", "[programs]") {
  struct Example {
    const char* name;
    std::vector<Bindings> sizes;
    Bindings bound;
  };
  const std::vector<Example> examples = {
      {"gemm", kPlain, {}},
      {"bias_gelu", kPlain, {}},
      {"gate_up", {{{"M", 3}, {"F", 5}, {"K", 4}}, {{"M", 2}, {"F", 0}, {"K", 3}}}, {}},
      {"residual", kPlain, {}},
      {"qkv_rope",
       {{{"M", 2}, {"D", 3}, {"Hq", 3}, {"Hkv", 2}, {"Dh", 8}}, {{"M", 1}, {"D", 3}, {"Hq", 1}, {"Hkv", 0}, {"Dh", 8}}},
       {{"Dh", 8}}},
      {"linear_ce", {{{"M", 7}, {"D", 3}, {"V", 6}}, {{"M", 2}, {"D", 3}, {"V", 0}}}, {}},
  };
  for (const auto& e : examples) {
    const std::string text = example(e.name);
    check({e.name, text.c_str(), e.sizes, e.bound});
  }
}

TEST_CASE("rows, columns and parameters", "[programs]") {
  const std::vector<Case> cases = {
      {"vectors and scalars",
       R"(
kernel f(x: bf16[M, K], w: bf16[N, K], r: f32[M], b: bf16[N], t: f32[M, N], s: f32) -> (y: f32[M, N]) {
    y = s * (r * (x @ w.T) + b) - t / 2
})",
       kPlain,
       {}},
      {"permuted output",
       R"(
kernel f(x: bf16[M, K], w: bf16[N, K], b: f32[N]) -> (y: f32[N, M]) { y = x @ w.T + b })",
       kPlain,
       {}},
      {"transposed operands",
       R"(
kernel f(x: bf16[K, M], w: bf16[K, N]) -> (y: f32[M, N]) { y = x.T @ w })",
       kPlain,
       {}},
      {"several row dimensions",
       R"(
kernel f(x: bf16[B, S, K], w: bf16[N, K], r: f32[B], p: f32[S, N]) -> (y: f32[B, S, N]) { y = r * (x @ w.T) + p })",
       {{{"B", 2}, {"S", 3}, {"K", 4}, {"N", 5}}},
       {}},
      {"factors of the operands",
       R"(
kernel f(x: bf16[M, K], w: bf16[N, K], r: f32[M], c: f32[N], s: f32) -> (y: f32[M, N]) {
    y = (-(x * r) / s) @ w.T * c
})",
       kPlain,
       {}},
      {"a mask by index",
       R"(
kernel f(x: bf16[M, K], w: bf16[N, K]) -> (y: f32[M, N]) { y = select(index(N) <= index(M), x @ w.T, -1) })",
       kPlain,
       {}},
      {"a symmetric product",
       R"(
kernel f(x: bf16[M, K]) -> (y: f32[M, M as M2]) { y = x @ x[M as M2].T })",
       {{{"M", 3}, {"K", 4}}},
       {}},
      {"renamed rows",
       R"(
kernel f(x: bf16[M, K], w: bf16[N, K], r: f32[M as P]) -> (y: f32[M as P, N], s: f32[M as P]) {
    let z = (x @ w.T)[M as P] * r
    y = z
    s = sum(z, over = N)
})",
       {{{"M", 3}, {"N", 5}, {"K", 4}}},
       {}},
      {"regrouped rows",
       R"(
kernel f(x: bf16[B*S, K], w: bf16[N, K], p: f32[S, N], r: f32[B*S]) -> (y: f32[B, S, N], t: f32[B*S, N], m: f32[B*S]) {
    let z = r * (x @ w.T)
    y = group(z, S, dim = B*S) + p
    t = z
    m = max(z, over = N)
})",
       {{{"B", 2}, {"S", 3}, {"N", 5}, {"K", 4}}},
       {}},
      {"statistics of regrouped rows",
       R"(
kernel f(x: bf16[B*S, K], w: bf16[N, K], r: f32[B*S]) -> (y: f32[B, S, N], c: f32[N], a: f32) {
    let z = r * (x @ w.T)
    y = group(z, S, dim = B*S)
    c = sum(z, over = B*S)
    a = max(z, over = (N, B*S))
})",
       {{{"B", 2}, {"S", 3}, {"N", 5}, {"K", 4}}},
       {}},
      {"statistics of renamed rows",
       R"(
kernel f(x: bf16[M, K], w: bf16[N, K], r: f32[M as P]) -> (y: f32[M as P, N], c: f32[N]) {
    let z = (x @ w.T)[M as P] * r
    y = z
    c = sum(z*r, over = P)
})",
       {{{"M", 3}, {"N", 5}, {"K", 4}}},
       {}},
      {"pieces of the first operand's rows",
       R"(
kernel f(w: bf16[2*F, K], x: bf16[T, K]) -> (y: f32[F, T]) {
    let (a, b) = halves(w @ x.T, dim = 2*F)
    y = a * b
})",
       {{{"F", 3}, {"T", 4}, {"K", 2}}},
       {}},
      {"optimizer step",
       R"(
kernel f(x: bf16[T, K], dz: bf16[T, N], inout p: f32[N, K], inout m: f32[N, K], lr: f32, b: f32) -> (w: bf16[N, K]) {
    let g = dz.T @ x
    m = b*m + (1 - b)*g
    p = p - lr*m
    w = p
})",
       {{{"T", 3}, {"N", 4}, {"K", 5}}},
       {},
       1e-2},
      {"accumulation",
       R"(
kernel f(x: bf16[M, K], w: bf16[N, K], inout y: f32[M, N]) { y += x @ w.T })",
       kPlain,
       {}},
      {"a weight of several axes",
       R"(
kernel f(x: bf16[M, D], w: bf16[H, Dh, D]) -> (y: f32[M, H*Dh]) { y = x @ flatten(w, dim = (H, Dh)).T })",
       {{{"M", 2}, {"D", 3}, {"H", 2}, {"Dh", 4}}},
       {}},
  };
  for (const Case& c : cases) check(c);
}

TEST_CASE("regions, segments and granules", "[programs]") {
  const std::vector<Bindings> halves = {{{"M", 2}, {"F", 5}, {"K", 3}}};
  const std::vector<Case> cases = {
      {"halves and the value before",
       R"(
kernel f(x: bf16[M, K], w: bf16[2*F, K], b: f32[2*F], c: f32[F]) -> (y: f32[M, F], z: f32[M, 2*F]) {
    let h = x @ w.T + b
    let (gate, up) = halves(h)
    y = silu(gate) * up + c
    z = h
})",
       halves,
       {}},
      {"halves, all sizes known",
       R"(
kernel f(x: bf16[M, K], w: bf16[2*F, K]) -> (y: f32[M, F]) {
    let (gate, up) = halves(x @ w.T)
    y = silu(gate) * up
})",
       halves,
       {{"M", 2}, {"F", 5}, {"K", 3}}},
      {"pairs",
       R"(
kernel f(x: bf16[M, K], w: bf16[2*F, K]) -> (y: f32[M, F]) { y = swiglu_pairs(x @ w.T) })",
       halves,
       {}},
      {"pairs of blocks",
       R"(
kernel f(x: bf16[M, K], w: bf16[2*F, K]) -> (y: f32[M, F], s: f32[M, F/2]) {
    let g = group(x @ w.T, G = 4)
    let t = absmax(g, over = G)
    let (a, b) = pairs(flatten(g / (1 + t)))
    y = a - 16*b
    s = t
})",
       {{{"M", 2}, {"F", 6}, {"K", 3}}},
       {}},
      {"one of the pair",
       R"(
kernel f(x: bf16[M, K], w: bf16[2*F, K]) -> (y: f32[M, F]) {
    let (a, b) = pairs(x @ w.T)
    y = b
})",
       halves,
       {}},
      {"pieces of the weight",
       R"(
kernel f(x: bf16[M, K], w: bf16[2*F, K]) -> (y: f32[M, F]) {
    let (wg, wu) = halves(w, dim = 2*F)
    y = silu(x @ wg.T) * (x @ wu.T)
})",
       halves,
       {}},
      {"one piece of the weight",
       R"(
kernel f(x: bf16[M, K], w: bf16[2*F, K]) -> (y: f32[M, F]) {
    let (wg, wu) = halves(w, dim = 2*F)
    y = x @ wu.T
})",
       halves,
       {}},
      {"unequal parts",
       R"(
kernel f(x: bf16[M, K], w: bf16[A + 2*B, K], r: f32[M]) -> (a: f32[M, A], b: f32[M, B], whole: f32[M, A + 2*B]) {
    let z = r * (x @ w.T)
    let (p, q) = split(z, A, 2*B)
    let (u, v) = halves(q)
    a = p
    b = u * v
    whole = z
})",
       {{{"M", 2}, {"A", 3}, {"B", 4}, {"K", 3}}, {{"M", 2}, {"A", 0}, {"B", 1}, {"K", 3}}},
       {}},
      {"parts joined again",
       R"(
kernel f(x: bf16[M, K], w: bf16[A + B + C, K], p: f32[A], q: f32[B], bias: f32[A + B + C])
    -> (y: f32[M, A + B + C]) {
    let (a, b, c) = split(x @ w.T, A, B, C)
    y = 2 * concat(silu(a) + p, b * q, c) + bias
})",
       {{{"M", 2}, {"A", 3}, {"B", 4}, {"C", 2}, {"K", 3}}},
       {}},
      {"parts joined in another order",
       R"(
kernel f(x: bf16[M, K], w: bf16[A + B, K], p: f32[A]) -> (y: f32[M, A + B], s: f32[M]) {
    let (a, b) = split(x @ w.T, A, B)
    let z = concat(b, a * p)
    y = z
    s = sum(z * index(A + B), over = A + B)
})",
       {{{"M", 2}, {"A", 3}, {"B", 4}, {"K", 3}}},
       {}},
      {"rotated halves joined at the border",
       R"(
kernel f(x: bf16[M, K], w: bf16[2*F, K], c: f32[M, F]) -> (y: f32[M, 2*F]) {
    let (a, b) = halves(x @ w.T)
    y = join_halves(a*c - b, b*c + a)
})",
       halves,
       {}},
      {"rotated pairs",
       R"(
kernel f(x: bf16[M, K], w: bf16[H*Dh, K], c: f32[M, Dh/2], s: f32[M, Dh/2]) -> (y: f32[M, H, Dh], z: f32[M, H*Dh]) {
    let (a, b) = pairs(group(x @ w.T, Dh))
    let r = join_pairs(a*c - b*s, b*c + a*s)
    y = r
    z = flatten(r)
})",
       {{{"M", 2}, {"H", 3}, {"Dh", 6}, {"K", 2}}},
       {{"Dh", 6}}},
      {"sums of groups",
       R"(
kernel f(x: bf16[M, K], w: bf16[H*Dh, K]) -> (s: f32[M, H], n: f32[M, H, Dh]) {
    let z = group(x @ w.T, Dh)
    let norm = sum(z*z, over = Dh)
    s = norm
    n = z / (1 + absmax(z, over = Dh))
})",
       {{{"M", 2}, {"H", 3}, {"Dh", 4}, {"K", 2}}},
       {{"Dh", 4}}},
      {"norm and rotation of heads",
       R"(
kernel f(h: bf16[M, D], w: bf16[Hq*Dh + 2*Hkv*Dh, D], r: f32[M], gq: bf16[Dh], gk: bf16[Dh],
         cos: f32[M, Dh/2], sin: f32[M, Dh/2]) -> (q: f32[M, Hq, Dh], k: f32[M, Hkv, Dh], v: f32[M, Hkv, Dh])
where Hkv = 2 {
    let (a, b, c) = split((h @ w.T) * r, Hq*Dh, Hkv*Dh, Hkv*Dh)
    q = rope(rmsnorm(group(a, Dh), gq), cos, sin)
    k = rope(rmsnorm(group(b, Dh), gk), cos, sin)
    v = group(c, Dh)
})",
       {{{"M", 2}, {"D", 3}, {"Hq", 3}, {"Hkv", 2}, {"Dh", 8}}},
       {{"Dh", 8}}},
      {"one output of all heads",
       R"(
kernel f(h: bf16[M, D], w: bf16[Hq*Dh + 2*Hkv*Dh, D], cos: f32[M, Dh/2], sin: f32[M, Dh/2],
         u: f32[Hkv])
    -> (y: f32[M, Hq*Dh + 2*Hkv*Dh]) {
    let (a, b, c) = split(h @ w.T, Hq*Dh, Hkv*Dh, Hkv*Dh)
    y = concat(flatten(rope(group(a, Dh), cos, sin)), flatten(rope(group(b, Dh), cos, sin) * u), c)
})",
       {{{"M", 2}, {"D", 3}, {"Hq", 3}, {"Hkv", 2}, {"Dh", 4}}},
       {{"Dh", 4}}},
      {"all sizes known",
       R"(
kernel f(h: bf16[M, D], w: bf16[Hq*Dh + 2*Hkv*Dh, D], cos: f32[M, Dh/2], sin: f32[M, Dh/2])
    -> (q: f32[M, Hq, Dh], k: f32[M, Hkv, Dh], v: f32[M, Hkv*Dh]) {
    let (a, b, c) = split(h @ w.T, Hq*Dh, Hkv*Dh, Hkv*Dh)
    q = rope(group(a, Dh), cos, sin)
    k = rope(group(b, Dh), cos, sin)
    v = c
})",
       {{{"M", 2}, {"D", 3}, {"Hq", 3}, {"Hkv", 2}, {"Dh", 4}}},
       {{"M", 2}, {"D", 3}, {"Hq", 3}, {"Hkv", 2}, {"Dh", 4}}},
      {"halves of which each has heads",
       R"(
kernel f(x: bf16[M, K], w: bf16[2*H*Dh, K], g: f32[Dh]) -> (y: f32[M, H, Dh]) {
    let (a, b) = halves(x @ w.T)
    y = rmsnorm(group(a, Dh), g) * group(b, Dh)
})",
       {{{"M", 2}, {"H", 3}, {"Dh", 4}, {"K", 2}}},
       {{"Dh", 4}}},
      {"an outer group of symbolic stride",
       R"(
kernel f(x: bf16[M, K], w: bf16[3*F, K]) -> (y: f32[M, 3 as G, F], s: f32[M, F]) {
    let z = group(x @ w.T, F)[3 as G]
    y = z
    s = sum(z, over = G)
})",
       {{{"M", 2}, {"F", 4}, {"K", 3}}},
       {}},
      {"a whole row in the tile",
       R"(
kernel f(x: bf16[M, K], w: bf16[N, K], g: f32[N]) -> (y: f32[M, N]) where N = 24 { y = rmsnorm(x @ w.T, g) })",
       {{{"M", 3}, {"N", 24}, {"K", 2}}},
       {}},
      {"halves joined again, all sizes known",
       R"(
kernel f(x: bf16[M, K], w: bf16[2*F, K], c: f32[M, F]) -> (y: f32[M, 2*F]) where F = 5 {
    let (a, b) = halves(x @ w.T)
    y = join_halves(a*c - b, b*c + a)
})",
       {{{"M", 2}, {"F", 5}, {"K", 3}}},
       {}},
      {"a small product in the tile",
       R"(
kernel f(x: bf16[M, K], w: bf16[N, K], t: f32[P, N]) -> (y: f32[M, P]) where N = 8, P = 8 {
    y = sum((x @ w.T) * t, over = N)
})",
       {{{"M", 3}, {"N", 8}, {"P", 8}, {"K", 2}}},
       {}},
      {"a small product of heads",
       R"(
kernel f(x: bf16[M, K], w: bf16[H*Dh, K], t: f32[P, Dh]) -> (y: f32[M, H, P]) where Dh = 8, P = 4 {
    y = sum(group(x @ w.T, Dh) * t, over = Dh)
})",
       {{{"M", 3}, {"H", 3}, {"Dh", 8}, {"P", 4}, {"K", 2}}},
       {}},
      {"joined weight axes read by heads",
       R"(
kernel f(x: bf16[M, D], w: bf16[H, Dh, D]) -> (y: f32[M, H, Dh]) {
    y = group(x @ flatten(w, dim = (H, Dh)).T, Dh)
})",
       {{{"M", 2}, {"D", 3}, {"H", 2}, {"Dh", 4}}},
       {{"Dh", 4}}},
  };
  for (const Case& c : cases) check(c);
}

}  // namespace coda::test
