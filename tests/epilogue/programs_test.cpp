// Kernels whose lowered form is run by plain loops and compared with the reference meaning of the source.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "lowered.h"

namespace coda::test {

namespace {

struct Case {
  const char* name;
  const char* text;
  std::vector<Bindings> sizes;
  Bindings bound;
  double tolerance = 1e-9;
};

void check(const Case& c) {
  for (const Bindings& sizes : c.sizes) {
    const Comparison result = compare(c.text, sizes, c.bound, c.tolerance);
    std::string given;
    for (const auto& [name, value] : sizes) given += name + "=" + std::to_string(value) + " ";
    INFO(c.name << ": " << given << "\n" << c.text << "\n" << result.dump);
    CHECK(result.failure == "");
  }
}

std::string example(const std::string& name) {
  std::ifstream stream(std::string(CODA_SOURCE_DIR) + "/examples/" + name + ".coda");
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
