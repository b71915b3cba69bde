#include "sm90_programs.h"

#include <fstream>
#include <sstream>

#include "compiler/elaborate/elaborate.h"
#include "dsl/parser.h"
#include "tests/source_root.h"

namespace coda::test {
namespace {

std::string example(const std::string& name) {
  std::stringstream text;
  text << std::ifstream(source_root() + "/examples/" + name + ".coda").rdbuf();
  return text.str();
}

}  // namespace

std::vector<Sm90Program> sm90_programs() {
  const Bindings heads = {{"Dh", 128}, {"Hq", 32}, {"Hkv", 8}};
  return {
      {"gemm_kk", "kernel gemm(a: bf16[M, K], b: bf16[N, K]) -> (d: bf16[M, N]) {\n  d = a @ b.T\n}\n", {}},
      {"gemm_kn", "kernel gemm(a: bf16[M, K], b: bf16[K, N]) -> (d: bf16[M, N]) {\n  d = a @ b\n}\n", {}},
      {"gemm_mk", "kernel gemm(a: bf16[K, M], b: bf16[N, K]) -> (d: bf16[M, N]) {\n  d = a.T @ b.T\n}\n", {}},
      {"gemm_mn", "kernel gemm(a: bf16[K, M], b: bf16[K, N]) -> (d: bf16[M, N]) {\n  d = a.T @ b\n}\n", {}},
      {"gemm_f16", "kernel gemm(a: f16[M, K], b: f16[N, K]) -> (d: f32[M, N]) {\n  d = a @ b.T\n}\n", {}},
      {"fp8",
       "kernel fp8(a: e4m3[M, K], b: e4m3[N, K], sa: f32[M], sb: f32[N]) -> (d: bf16[M, N]) {\n"
       "  d = (a @ b.T) * sa * sb\n}\n",
       {}},
      {"fp8_fast",
       "kernel fp8_fast(a: e4m3[M, K], b: e5m2[N, K], s: f32) -> (d: bf16[M, N])\nschedule { promote = 0 } {\n"
       "  d = (a @ b.T) * s\n}\n",
       {}},
      {"fp8_turned", "kernel fp8_turned(a: e5m2[K, M], b: e4m3[K, N]) -> (d: f32[M, N]) {\n  d = a.T @ b\n}\n", {}},
      {"fp8_swiglu",
       "kernel fp8_swiglu(a: e4m3[M, K], b: e4m3[2*F, K], s: f32[M]) -> (act: bf16[M, F], amax: f32) {\n"
       "  let (gate, up) = halves((a @ b.T) * s)\n  let h = silu(gate) * up\n  act = h\n"
       "  amax = absmax(h, over = (M, F))\n}\n",
       {}},
      {"split",
       "kernel split_depth(a: bf16[M, K], b: bf16[N, K], r: bf16[M, N]) -> (h: bf16[M, N], s: f32[M], m: f32)\n"
       "schedule { split = 4 } {\n  let t = r + a @ b.T\n  h = t\n  s = sum(t*t, over = N)\n"
       "  m = absmax(t, over = (M, N))\n}\n",
       {}},
      {"tail",
       "kernel shared_tail(a: bf16[M, K], b: bf16[N, K], r: bf16[M, N]) -> (h: bf16[M, N], s: f32[M], m: f32)\n"
       "schedule { tail = 1 } {\n  let t = r + a @ b.T\n  h = t\n  s = sum(t*t, over = N)\n"
       "  m = absmax(t, over = (M, N))\n}\n",
       {}},
      {"part_rows",
       "kernel part_rows(a: bf16[B, T, K], w: bf16[N, K], g: f32[B, N])\n"
       "    -> (y: bf16[B, T, N], s: f32[B, N], m: f32[B], r: f32[B, T]) {\n  let z = a @ w.T\n  y = z\n"
       "  s = mean(z, over = T) * g\n  m = absmax(z, over = (T, N))\n  r = sum(z*z, over = N)\n}\n",
       {}},
      {"part_of_batches",
       "kernel part_of_batches(a: bf16[C, B, T, K], w: bf16[C, B, K, N]) -> (s: f32[B, N], m: f32[B]) {\n"
       "  let z = a @ w\n  s = sum(z, over = (C, T))\n  m = max(z, over = (C, T, N))\n}\n",
       {}},
      {"gathered_rows",
       "kernel gathered(a: bf16[T, K], t: i32[M, J], w: bf16[2*F, K], s: f32[M, J]) -> (y: bf16[M, J, F]) {\n"
       "  let (gate, up) = halves(gather(a, T = t) @ w.T)\n  y = s * silu(gate) * up\n}\n",
       {}},
      {"gathered_columns",
       "kernel gathered_columns(a: f16[M, K], v: f16[K, T], t: i64[N]) -> (y: f16[M, N], lse: f32[M]) {\n"
       "  let z = a @ gather(v, T = t)\n  y = z\n  lse = logsumexp(z, over = N)\n}\n",
       {}},
      {"mx_of_pairs",
       "kernel mx_of_pairs(a: bf16[M, K], w: bf16[2*F, K]) -> (q: e4m3[M, F], s: ue8m0[M, F/32]) {\n"
       "  (q, s) = quantize(swiglu_pairs(a @ w.T), e4m3, over = 32, scale = ue8m0)\n}\n",
       {}},
      {"packed_fours",
       "kernel packed_fours(a: bf16[M, K], w: bf16[2*F, K]) -> (y: u8[M, F], s: e4m3[M, F/8] layout mx128x4) {\n"
       "  let (q, t) = quantize(a @ w.T, e2m1, over = 16, scale = e4m3)\n  y = pack_e2m1(q)\n  s = t\n}\n",
       {},
       true},
      {"packed_gated_fours",
       "kernel packed_gated_fours(a: bf16[M, K], w: bf16[4*F, K]) -> (y: u8[M, F], s: ue8m0[M, F/16]) {\n"
       "  let (q, t) = quantize(reglu(a @ w.T), e2m1, over = 32, scale = ue8m0)\n  y = pack_e2m1(q)\n  s = t\n}\n",
       {},
       true},
      {"rows_of_pairs",
       "kernel rows_of_pairs(a: bf16[M, K], w: bf16[2*F, K]) -> (q: i8[M, F], s: f32[M, F/16]) {\n"
       "  (q, s) = quantize(swiglu_pairs(a @ w.T), i8, over = 16)\n}\n",
       {}},
      {"bias_gelu", example("bias_gelu"), {}},
      {"gate_up", example("gate_up"), {}},
      {"residual", example("residual"), {}},
      {"qkv_rope", example("qkv_rope"), heads},
      {"linear_ce", example("linear_ce"), {}},
      {"grouped_rope",
       "kernel grouped_rope(x: bf16[T, D], w: bf16[H*G*Dh, D], cos: f32[T, Dh/2], sin: f32[T, Dh/2])\n"
       "    -> (q: bf16[T, H, G, Dh]) where Dh = 64, G = 4, H = 2 {\n"
       "  q = group(rope(group(x @ w.T, Dh), cos, sin), G, dim = H*G)\n}\n",
       {},
       false,
       8000},  // in tiles of three heads, four of which are a group
      {"channels",
       "kernel channels(a: bf16[M, K], b: bf16[2*H*Dh, K]) -> (y: bf16[M, 2*H, Dh], s: f32[2*H, Dh], t: f32[M]) {\n"
       "  let z = group(a @ b.T, Dh)\n  let v = z * rsqrt(mean(z*z, over = Dh) + 1)\n  y = v\n"
       "  s = absmax(z, over = M)\n  t = sum(v, over = (2*H, Dh))\n}\n",
       {{"Dh", 64}}},
      {"pairs",
       "kernel pairs_up(a: bf16[M, K], b: bf16[2*F, K]) -> (act: bf16[M, F]) {\n"
       "  let (gate, up) = pairs(a @ b.T)\n  act = silu(gate) * up\n}\n",
       {}},
      {"half_rounded", "kernel half(a: f16[M, K], b: f16[N, K]) -> (y: f32[M, N]) {\n  y = f16(a @ b.T)\n}\n", {}},
      {"four_regions",
       "kernel four(a: bf16[M, K], b: bf16[P + Q + R + S, K], t: bf16[M, P])\n"
       "    -> (p: bf16[M, P], q: bf16[M, Q], r: bf16[M, R], s: bf16[M, S]) {\n"
       "  let (c, d, e, f) = split(a @ b.T, P, Q, R, S)\n  p = c + t\n  q = d\n  r = e\n  s = f\n}\n",
       {}},
      {"head_norm",
       "kernel head_norm(a: bf16[M, K], b: bf16[H*Dh, K], g: f32[Dh]) -> (q: bf16[M, H, Dh]) {\n"
       "  q = rmsnorm(group(a @ b.T, Dh), g)\n}\n",
       {{"Dh", 64}}},
      {"columns",
       "kernel columns(a: bf16[M, K], b: bf16[N, K]) -> (d: f32[M, N], s: f32[N], m: f32[N]) {\n"
       "  let z = a @ b.T\n  d = z\n  s = sum(z, over = M)\n  m = absmax(z, over = M)\n}\n",
       {}},
      {"router",
       "kernel router(x: bf16[M, D], w: bf16[E, D], b: bf16[E]) -> (p: f32[M, E], top: f32[M])\nwhere E = 60 {\n"
       "  let q = softmax(x @ w.T + b)\n  p = q\n  top = max(q, over = E)\n}\n",
       {}},
      {"small_layernorm",
       "kernel norm(x: bf16[M, D], w: bf16[D, E], g: f32[E], b: f32[E]) -> (y: bf16[M, E])\nwhere E = 64 {\n"
       "  y = layernorm(x @ w, g, b)\n}\n",
       {}},
      {"lora",
       "kernel lora(x: bf16[M, K], w: bf16[N, K], a: bf16[M, R], b: bf16[N, R], s: f32) -> (y: bf16[M, N]) {\n"
       "  y = x @ w.T + 0.5 * s * (a @ b.T)\n}\n",
       {}},
      {"three_products",
       "kernel three(x: bf16[M, K], w: bf16[K, N], a: bf16[R, M], b: bf16[N, R], c: bf16[M, R], d: bf16[R, N], s: "
       "f32)\n"
       "    -> (y: bf16[M, N], t: f32[M]) {\n"
       "  let z = x @ w + a.T @ b.T - s * (c @ d)\n  y = z\n  t = sum(z, over = N)\n}\n",
       {}},
      {"batch",
       "kernel batch(x: bf16[B, H, M, K], w: bf16[B, H, N, K]) -> (y: bf16[B, H, M, N], t: f32[B, H, M]) {\n"
       "  let z = x @ w.T\n  y = z\n  t = max(z, over = N)\n}\n",
       {}},
      {"depth_of_heads",
       "kernel heads(x: bf16[B, S, H, K], w: bf16[D, H, K]) -> (y: bf16[B, S, D]) {\n"
       "  y = sum(x * w, over = (H, K))\n}\n",
       {}},
      {"batch_kn",
       "kernel batch(x: f16[M, B, K], w: f16[B, K, N], a: f16[B, R, M], b: f16[B, R, N], s: f32)\n"
       "    -> (y: f32[B, M, N], t: f32[N], u: f32) {\n"
       "  let z = sum(x * w, over = K) + s * (a.T @ b)\n  y = z\n  t = sum(z, over = (B, M))\n"
       "  u = absmax(z, over = (B, M, N))\n}\n",
       {}},
      {"adamw",
       "kernel adamw(x: bf16[T, K], dz: bf16[T, N], inout p: f32[N, K], inout m: f32[N, K], lr: f32, b1: f32)\n"
       "    -> (w: bf16[N, K]) {\n"
       "  let g = dz.T @ x\n  m = b1*m + (1 - b1)*g\n  p = p - lr*m\n  w = p\n}\n",
       {}},
  };
}

std::optional<EpilogueProgram> lower_text(const Sm90Program& program, std::string& report) {
  SourceMap sources;
  Diagnostics diagnostics(sources);
  const FileId file = sources.add(program.name + ".coda", program.text);
  const auto module = parse(file, sources, diagnostics);
  ElaborateRequest request;
  request.bound = program.bound;
  std::optional<Program> elaborated;
  if (module) elaborated = elaborate(*module, file, sources, request, diagnostics);
  EpilogueProgram epilogue;
  const bool good = elaborated && !diagnostics.has_errors() && lower_to_epilogue(*elaborated, epilogue, diagnostics);
  report = diagnostics.render_text();
  if (!good) return std::nullopt;
  return epilogue;
}

}  // namespace coda::test
