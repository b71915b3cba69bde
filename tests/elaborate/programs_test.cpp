// The programs of the language's description and of examples/, evaluated by the reference and by loops.
#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <sstream>

#include "evaluate.h"
#include "tests/source_root.h"

namespace coda::test {
namespace {

std::string example(const std::string& name) {
  std::ifstream stream(source_root() + "/examples/" + name);
  REQUIRE(stream);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

/// Σ_k a[i, k] b[j, k]
double dot(const Run& run, const std::string& a, int64_t i, const std::string& b, int64_t j, int64_t depth) {
  double sum = 0;
  for (int64_t k = 0; k < depth; ++k) sum += run(a, {i, k}) * run(b, {j, k});
  return sum;
}

double silu(double x) { return x / (1 + std::exp(-x)); }

#define NEAR(x, y) CHECK((x) == Approx(y).epsilon(1e-12).margin(1e-12))

/// x[.., Dh] times its root mean square's inverse and a gain, then rotated by halves.
std::vector<double> rotated(std::vector<double> x, const std::vector<double>& cos, const std::vector<double>& sin) {
  const size_t half = x.size() / 2;
  std::vector<double> y(x.size());
  for (size_t i = 0; i < half; ++i) {
    y[i] = x[i] * cos[i] - x[half + i] * sin[i];
    y[half + i] = x[half + i] * cos[i] + x[i] * sin[i];
  }
  return y;
}
std::vector<double> normed(std::vector<double> x, const std::vector<double>& gain, double eps) {
  double squares = 0;
  for (const double v : x) squares += v * v;
  for (size_t i = 0; i < x.size(); ++i) x[i] *= gain[i] / std::sqrt(squares / static_cast<double>(x.size()) + eps);
  return x;
}

}  // namespace

TEST_CASE("example: gemm") {
  const int64_t M = 3, K = 5, N = 4;
  const Run run = evaluate(example("gemm.coda"), {{"M", M}, {"K", K}, {"N", N}});
  for (int64_t m = 0; m < M; ++m) {
    for (int64_t n = 0; n < N; ++n) NEAR(run("y", {m, n}), dot(run, "x", m, "w", n, K));
  }
}

TEST_CASE("example: bias and GELU") {
  const int64_t M = 3, K = 5, N = 4;
  const Run run = evaluate(example("bias_gelu.coda"), {{"M", M}, {"K", K}, {"N", N}});
  for (int64_t m = 0; m < M; ++m) {
    for (int64_t n = 0; n < N; ++n) {
      const double z = dot(run, "x", m, "w", n, K) + run("bias", {n});
      const double inner = std::sqrt(2 / M_PI) * (z + 0.044715 * z * z * z);
      CHECK(run("y", {m, n}) == Approx(0.5 * z * (1 + std::tanh(inner))).epsilon(1e-9).margin(1e-12));
    }
  }
}

TEST_CASE("example: gate and up") {
  const int64_t M = 3, K = 5, F = 4;
  const Run run = evaluate(example("gate_up.coda"), {{"M", M}, {"K", K}, {"F", F}});
  for (int64_t m = 0; m < M; ++m) {
    for (int64_t f = 0; f < F; ++f) {
      const double gate = dot(run, "x", m, "w", f, K) * run("rstd", {m});
      const double up = dot(run, "x", m, "w", F + f, K) * run("rstd", {m});
      NEAR(run("act", {m, f}), silu(gate) * up);
    }
  }
}

TEST_CASE("example: residual, second output and row statistic") {
  const int64_t M = 3, K = 5, N = 4;
  const Run run = evaluate(example("residual.coda"), {{"M", M}, {"K", K}, {"N", N}});
  for (int64_t m = 0; m < M; ++m) {
    double squares = 0;
    for (int64_t n = 0; n < N; ++n) {
      const double stored = round_to(run("r", {m, n}) + dot(run, "x", m, "w", n, K), DType::BF16);
      NEAR(run("h", {m, n}), stored);
      NEAR(run("scaled", {m, n}), stored * run("gain", {n}));
      squares += stored * stored;
    }
    NEAR(run("squares", {m}), squares);
  }
}

TEST_CASE("example: queries, keys and values with rotation") {
  const int64_t M = 3, D = 5, Hq = 3, Hkv = 2, Dh = 4;
  const Run run = evaluate(example("qkv_rope.coda"), {{"M", M}, {"D", D}, {"Hq", Hq}, {"Hkv", Hkv}, {"Dh", Dh}});
  for (int64_t m = 0; m < M; ++m) {
    std::vector<double> cos, sin;
    for (int64_t i = 0; i < Dh / 2; ++i) cos.push_back(run("cos", {m, i})), sin.push_back(run("sin", {m, i}));
    for (int64_t head = 0; head < Hq + 2 * Hkv; ++head) {
      std::vector<double> x;
      for (int64_t i = 0; i < Dh; ++i) x.push_back(dot(run, "h", m, "w", head * Dh + i, D) * run("rstd", {m}));
      const bool is_q = head < Hq, is_k = !is_q && head < Hq + Hkv;
      const std::vector<double> y = is_q || is_k ? rotated(x, cos, sin) : x;
      for (int64_t i = 0; i < Dh; ++i) {
        const double found = is_q   ? run("q", {m, head, i})
                             : is_k ? run("k", {m, head - Hq, i})
                                    : run("v", {m, head - Hq - Hkv, i});
        NEAR(found, y[static_cast<size_t>(i)]);
      }
    }
  }
}

TEST_CASE("example: linear cross-entropy") {
  const int64_t M = 5, D = 4, V = 7;
  const std::vector<double> targets{3, -100, 0, 6, 99};
  const Run run = evaluate(example("linear_ce.coda"), {{"M", M}, {"D", D}, {"V", V}}, {{"t", targets}});
  for (int64_t m = 0; m < M; ++m) {
    double sum = 0;
    for (int64_t v = 0; v < V; ++v) sum += std::exp(dot(run, "x", m, "w", v, D));
    NEAR(run("lse", {m}), std::log(sum));
    const auto target = static_cast<int64_t>(run("t", {m}));
    const double logit = target >= 0 && target < V ? dot(run, "x", m, "w", target, D) : 0;
    NEAR(run("loss", {m}), target == -100 ? 0 : std::log(sum) - logit);
  }
}

TEST_CASE("per-head norm before the rotation, and outputs that permute") {
  const int64_t M = 2, D = 5, Hq = 3, Hkv = 8, Dh = 4;
  const std::string text = R"(
kernel qkv(h: bf16[M, D], w: bf16[Hq*Dh + 2*Hkv*Dh, D], r: f32[M], gq: bf16[Dh], gk: bf16[Dh],
           cos: f32[M, Dh/2], sin: f32[M, Dh/2]) -> (q: bf16[Hq, M, Dh], k: bf16[M, Hkv, Dh], v: bf16[Dh, M, Hkv])
where Hkv = 8 {
    let (a, b, c) = split((h @ w.T) * r, Hq*Dh, Hkv*Dh, Hkv*Dh)
    q = rope(rmsnorm(group(a, Dh), gq), cos, sin)
    k = rope(rmsnorm(group(b, Dh), gk), cos, sin)
    v = group(c, Dh)
}
fn rmsnorm(x, gain, eps = 1e-6) = x * rsqrt(mean(x*x, over = last(x)) + eps) * gain
)";
  const Run run = evaluate(text, {{"M", M}, {"D", D}, {"Hq", Hq}, {"Hkv", Hkv}, {"Dh", Dh}});
  for (int64_t m = 0; m < M; ++m) {
    std::vector<double> cos, sin;
    for (int64_t i = 0; i < Dh / 2; ++i) cos.push_back(run("cos", {m, i})), sin.push_back(run("sin", {m, i}));
    for (int64_t head = 0; head < Hq + 2 * Hkv; ++head) {
      std::vector<double> x, gain;
      const bool is_q = head < Hq, is_k = !is_q && head < Hq + Hkv;
      for (int64_t i = 0; i < Dh; ++i) {
        x.push_back(dot(run, "h", m, "w", head * Dh + i, D) * run("r", {m}));
        gain.push_back(run(is_q ? "gq" : "gk", {i}));
      }
      const std::vector<double> y = is_q || is_k ? rotated(normed(x, gain, 1e-6), cos, sin) : x;
      for (int64_t i = 0; i < Dh; ++i) {
        const double found = is_q   ? run("q", {head, m, i})
                             : is_k ? run("k", {m, head - Hq, i})
                                    : run("v", {i, m, head - Hq - Hkv});
        NEAR(found, y[static_cast<size_t>(i)]);
      }
    }
  }
}

TEST_CASE("a block of several products") {
  const int64_t M = 2, D = 4, A = 3, F = 5;
  const std::string text = R"(
block llama3_mlp(x: bf16[M, D], attn: bf16[M, A], wo: bf16[D, A], gain: bf16[D],
                 w_gate_up: bf16[2*F, D], w_down: bf16[D, F]) -> (y: bf16[M, D]) {
    let h = x + attn @ wo.T
    let (gate, up) = halves(rmsnorm(h, gain, eps = 1e-5) @ w_gate_up.T)
    y = h + (silu(gate) * up) @ w_down.T
}
)";
  const Run run = evaluate(text, {{"M", M}, {"D", D}, {"A", A}, {"F", F}});
  for (int64_t m = 0; m < M; ++m) {
    std::vector<double> h, gain;
    for (int64_t d = 0; d < D; ++d) {
      h.push_back(run("x", {m, d}) + dot(run, "attn", m, "wo", d, A));
      gain.push_back(run("gain", {d}));
    }
    const std::vector<double> n = normed(h, gain, 1e-5);
    std::vector<double> act;
    for (int64_t f = 0; f < F; ++f) {
      double gate = 0, up = 0;
      for (int64_t d = 0; d < D; ++d) {
        gate += n[static_cast<size_t>(d)] * run("w_gate_up", {f, d});
        up += n[static_cast<size_t>(d)] * run("w_gate_up", {F + f, d});
      }
      act.push_back(silu(gate) * up);
    }
    for (int64_t d = 0; d < D; ++d) {
      double y = h[static_cast<size_t>(d)];
      for (int64_t f = 0; f < F; ++f) y += act[static_cast<size_t>(f)] * run("w_down", {d, f});
      CHECK(run("y", {m, d}) == Approx(y).epsilon(1e-10).margin(1e-10));
    }
  }
}

TEST_CASE("an optimizer step rebinds its state") {
  const int64_t T = 3, K = 2, N = 4;
  const std::string text = R"(
kernel dw_adamw(x: bf16[T, K], dz: bf16[T, N], inout p: f32[N, K], inout m: f32[N, K], inout v: f32[N, K],
                lr: f32, b1: f32, b2: f32, eps: f32, wd: f32, c1: f32, c2: f32, clip: f32) -> (w: bf16[N, K]) {
    let g = clip * (dz.T @ x)
    m = b1*m + (1 - b1)*g
    v = b2*v + (1 - b2)*g*g
    p = p*(1 - lr*wd) - lr*(m/c1) / (sqrt(v/c2) + eps)
    w = p
}
)";
  const std::vector<double> second(static_cast<size_t>(N * K), 0.5);
  const Run run = evaluate(text, {{"T", T}, {"K", K}, {"N", N}},
                           {{"v", second},
                            {"lr", {0.125}},
                            {"b1", {0.75}},
                            {"b2", {0.5}},
                            {"eps", {0.25}},
                            {"wd", {0.5}},
                            {"c1", {0.5}},
                            {"c2", {0.25}},
                            {"clip", {0.5}}});
  for (int64_t n = 0; n < N; ++n) {
    for (int64_t k = 0; k < K; ++k) {
      double g = 0;
      for (int64_t t = 0; t < T; ++t) g += run("dz", {t, n}) * run("x", {t, k});
      g *= 0.5;
      const double m = 0.75 * run.old("m", {n, k}) + 0.25 * g, v = 0.5 * run.old("v", {n, k}) + 0.5 * g * g;
      const double p = run.old("p", {n, k}) * (1 - 0.125 * 0.5) - 0.125 * (m / 0.5) / (std::sqrt(v / 0.25) + 0.25);
      NEAR(run("m", {n, k}), m);
      NEAR(run("v", {n, k}), v);
      NEAR(run("p", {n, k}), p);
      NEAR(run("w", {n, k}), p);
    }
  }
}

}  // namespace coda::test
