#include "rowwise_forms.h"

namespace coda::test {

std::vector<RowwiseForm> rowwise_forms() {
  return {
      {"copy", "kernel f(x: bf16[M, N]) -> (y: bf16[M, N]) {\n    y = x\n}\n", {}, {{"M", 40}, {"N", 70}}},
      {"vector", "kernel f(x: f32[N], s: f32) -> (y: f16[N]) {\n    y = gelu(x) * s\n}\n", {}, {{"N", 70}}, 64},
      {"nothing but a scalar", "kernel f(s: f32) -> (y: f32) {\n    y = 2*s + 1\n}\n", {}, {}},
      {"broadcast",
       "kernel f(r: f32[M], c: bf16[N]) -> (y: f32[M, N], z: f32[M]) {\n    y = r + c\n    z = r*r\n}\n",
       {},
       {{"M", 40}, {"N", 70}}},
      {"transposed", "kernel f(x: bf16[N, M]) -> (y: bf16[M, N]) {\n    y = x * 2\n}\n", {}, {{"M", 40}, {"N", 70}}},
      {"rmsnorm",
       "kernel f(x: bf16[M, N], g: f32[N]) -> (y: bf16[M, N], r: f32[M]) {\n"
       "    y = rmsnorm(x, g)\n    r = rms_factor(x)\n}\n",
       {},
       {{"M", 40}, {"N", 70}},
       64},
      {"residual and norm",
       "kernel f(x: bf16[B, S, D], r: bf16[B, S, D], g: f32[D]) -> (h: bf16[B, S, D], y: bf16[B, S, D]) {\n"
       "    h = x + r\n    y = rmsnorm(h, g)\n}\n",
       {},
       {{"B", 3}, {"S", 11}, {"D", 70}},
       20000},
      {"layernorm",
       "kernel f(x: f32[M, N], g: f32[N], b: f32[N]) -> (y: f32[M, N]) {\n    y = layernorm(x, g, b)\n}\n",
       {},
       {{"M", 40}, {"N", 70}},
       256},
      {"blocks packed in pairs",
       "kernel f(x: bf16[M, 16*G]) -> (y: u8[M, 8*G], s: ue8m0[M, G] layout mx128x4) {\n"
       "    let (q, t) = quantize(x, e2m1, over = 16, scale = ue8m0)\n    y = pack_e2m1(q)\n    s = t\n}\n",
       {},
       {{"M", 140}, {"G", 6}}},
      {"rows gathered and summed",
       "kernel f(x: bf16[T, N], t: i32[M, J], p: f32[M, J]) -> (y: f32[M, N]) {\n"
       "    y = sum(p * gather(x, T = t), over = J)\n}\n",
       {},
       {{"T", 3}, {"M", 40}, {"J", 3}, {"N", 70}},
       64},
      {"softmax",
       "kernel f(x: bf16[M, N]) -> (y: f32[M, N]) {\n    y = softmax(x)\n}\n",
       {},
       {{"M", 40}, {"N", 70}},
       64},
      {"a statistic of a statistic beside a copy",
       "kernel f(x: bf16[M, N]) -> (y: bf16[M, N], v: f32[M]) {\n"
       "    let d = x - mean(x, over = N)\n    y = 2*x\n    v = mean(d*d, over = N)\n}\n",
       {},
       {{"M", 40}, {"N", 70}},
       64},
      {"softmax of columns",
       "kernel f(x: bf16[M, N]) -> (y: f32[M, N]) {\n    y = x - logsumexp(x, over = M)\n}\n",
       {},
       {{"M", 40}, {"N", 70}},
       64},
      {"softmax in two steps",
       "kernel f(x: f32[M, N]) -> (y: f32[M, N]) {\n"
       "    let e = exp(x - max(x, over = N))\n    y = e / sum(e, over = N)\n}\n",
       {},
       {{"M", 40}, {"N", 70}},
       64},
      {"rope",
       "kernel f(q: bf16[M, H, D], cos: f32[M, D/2], sin: f32[M, D/2]) -> (y: bf16[M, H, D])\n"
       "where D % 2 == 0 {\n    y = rope(q, cos, sin)\n}\n",
       {{"D", 64}},
       {{"M", 40}, {"H", 3}}},
      {"rope of pairs",
       "kernel f(q: bf16[M, 2*E], cos: f32[M, E], sin: f32[M, E]) -> (y: bf16[M, 2*E]) {\n"
       "    y = rope_interleaved(q, cos, sin)\n}\n",
       {},
       {{"M", 40}, {"E", 35}}},
      {"norm and rope",
       "kernel f(q: bf16[M, H, 2*E], g: f32[2*E], cos: f32[M, E], sin: f32[M, E]) -> (y: bf16[M, H, 2*E]) {\n"
       "    y = rope(rmsnorm(q, g), cos, sin)\n}\n",
       {},
       {{"M", 11}, {"H", 3}, {"E", 35}},
       256},
      {"swiglu",
       "kernel f(z: bf16[M, 2*F]) -> (y: bf16[M, F]) {\n    y = swiglu(z)\n}\n",
       {},
       {{"M", 40}, {"F", 70}},
       64},
      {"columns",
       "kernel f(x: bf16[M, N], d: bf16[M, N]) -> (s: f32[N], m: f32[N], a: f32) {\n"
       "    s = sum(x*d, over = M)\n    m = absmax(x, over = M)\n    a = mean(d, over = (M, N))\n}\n",
       {},
       {{"M", 150}, {"N", 70}},
       200},
      {"norm backward",
       "kernel f(x: bf16[M, N], g: f32[N], d: bf16[M, N]) -> (dx: bf16[M, N], dg: f32[N]) {\n"
       "    let r = rms_factor(x)\n    let n = x * r\n    let t = d * g\n"
       "    dx = r * (t - n * mean(t*n, over = N))\n    dg = sum(d * n, over = M)\n}\n",
       {},
       {{"M", 150}, {"N", 70}},
       256},
      {"groups",
       "kernel f(x: bf16[M, 32*G]) -> (q: e4m3[M, G, 32 as E], s: f32[M, G]) {\n"
       "    let z = group(x, E = 32)\n    let a = absmax(z, over = last(z)) / 448 + 1e-9\n    q = z / a\n    s = "
       "a\n}\n",
       {},
       {{"M", 40}, {"G", 5}}},
      {"groups in rows",
       "kernel f(x: bf16[M, 4*G]) -> (q: f32[M, G, 4 as E], r: f32[M]) {\n"
       "    let z = group(x, E = 4)\n    q = z / (1 + absmax(z, over = last(z)))\n    r = sum(x, over = last(x))\n}\n",
       {},
       {{"M", 40}, {"G", 25}},
       64},
      {"heads and rows",
       "kernel f(x: bf16[M, H, D]) -> (y: f32[M, H, D]) {\n"
       "    let z = x * rms_factor(x)\n    y = z - mean(z, over = (H, D))\n}\n",
       {{"D", 33}},
       {{"M", 11}, {"H", 5}},
       256},
      {"gather",
       "kernel f(table: bf16[V, D], t: i64[M]) -> (y: bf16[M, D], r: f32[M]) {\n"
       "    let e = gather(table, V = t)\n    y = e\n    r = sum(e, over = D)\n}\n",
       {},
       {{"V", 3}, {"M", 40}, {"D", 70}},
       64},
      {"cross-entropy",
       "kernel f(z: bf16[M, V], t: i64[M]) -> (loss: f32[M]) {\n"
       "    loss = logsumexp(z, over = V) - gather(z, V = t)\n}\n",
       {},
       {{"M", 40}, {"V", 70}},
       64},
      {"vector times matrix",
       "kernel f(w: bf16[D, F], g: f32[D]) -> (y: f32[F]) {\n    y = sum(w * g, over = D)\n}\n",
       {},
       {{"D", 150}, {"F", 70}},
       200},
      {"statistics of joined heads",
       "kernel f(q: bf16[M, H, Dh], v: bf16[M, N], t: bf16[M, H*Dh + N], c: f32[M, Dh/2])\n"
       "    -> (y: bf16[M, H*Dh + N], s: f32[M], m: f32[M], l: f32[M]) {\n"
       "    let (a, b) = halves(q)\n"
       "    let z = concat(flatten(join_halves(a*c - b, b*c + a)), 0.5*v)\n"
       "    y = z / (1 + absmax(z, over = H*Dh + N))\n    s = sum(z*t, over = H*Dh + N)\n"
       "    m = max(z, over = H*Dh + N)\n    l = logsumexp(z, over = H*Dh + N)\n}\n",
       {{"Dh", 16}},
       {{"M", 11}, {"H", 5}, {"N", 70}},
       512},
      {"joined heads, stored before their sum is whole",
       "kernel f(q: bf16[M, H, Dh], k: bf16[M, G, Dh], v: bf16[M, G, Dh], t: bf16[M, H*Dh + 2*G*Dh], c: f32[M, Dh/2],\n"
       "         r: f32[M]) -> (y: bf16[M, H*Dh + 2*G*Dh], s: f32[M]) {\n"
       "    let (a, b) = halves(q)\n    let (d, e) = halves(k)\n"
       "    let z = concat(flatten(join_halves(a*c - b, b*c + a)), flatten(join_halves(d*c - e, e*c + d)), "
       "flatten(v))\n"
       "    y = z * r\n    s = sum(z*t, over = H*Dh + 2*G*Dh)\n}\n",
       {{"Dh", 16}},
       {{"M", 11}, {"H", 6}, {"G", 2}},
       512},
      {"whole tensor",
       "kernel f(x: bf16[M, N]) -> (y: f32[M, N]) {\n    y = x / (1 + absmax(x, over = (M, N)))\n}\n",
       {},
       {{"M", 20}, {"N", 70}}},
      {"in place",
       "kernel f(inout p: f32[M, N], inout m: f32[M, N], g: bf16[M, N], lr: f32)\n"
       "    -> (w: bf16[M, N]) {\n"
       "    m = 0.5*m + 0.5*g\n    p = p - lr*m / (1 + sqrt(mean(p*p, over = N)))\n    w = p\n}\n",
       {},
       {{"M", 40}, {"N", 70}},
       64},
      {"counts and tests",
       "kernel f(x: f32[M, N], k: i32[M, N]) -> (y: i64[M, N], a: bool[M], b: bool[M]) {\n"
       "    y = k + index(N)\n    a = any(x > 1.5, over = N)\n    b = all(x < 1.5, over = N)\n}\n",
       {},
       {{"M", 40}, {"N", 70}}},
  };
}

}  // namespace coda::test
