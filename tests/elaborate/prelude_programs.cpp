#include "prelude_programs.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "compiler/ops/op.h"

namespace coda::test {

namespace {

constexpr int64_t kRows = 5, kColumns = 8;

using Row = std::vector<double>;

Row row_of(const Run& run, const std::string& name, int64_t m, int64_t size = kColumns) {
  Row row;
  for (int64_t i = 0; i < size; ++i) row.push_back(run(name, {m, i}));
  return row;
}

void each(const std::function<void(int64_t m, int64_t n)>& body) {
  for (int64_t m = 0; m < kRows; ++m) {
    for (int64_t n = 0; n < kColumns; ++n) body(m, n);
  }
}

bool is_same(double a, double b) { return a == Approx(b).epsilon(1e-9).margin(1e-12); }

double logsumexp(const Row& x) {
  double sum = 0;
  for (const double v : x) sum += std::exp(v);
  return std::log(sum);
}
double mean(const Row& x) {
  double sum = 0;
  for (const double v : x) sum += v;
  return sum / static_cast<double>(x.size());
}
double variance(const Row& x) {
  double sum = 0;
  for (const double v : x) sum += (v - mean(x)) * (v - mean(x));
  return sum / static_cast<double>(x.size());
}
/// The first of the elements that no other one exceeds.
int64_t first_extreme(const Row& x, double sign) {
  size_t best = 0;
  for (size_t i = 1; i < x.size(); ++i) best = sign * x[i] > sign * x[best] ? i : best;
  return static_cast<int64_t>(best);
}

double random_value(int64_t element, int64_t seed, int64_t offset) {
  const std::vector<double> arguments = {static_cast<double>(element), static_cast<double>(seed),
                                         static_cast<double>(offset)};
  return std::floor(find_op("random_bits")->eval(arguments) / 256) / 0x1p24;
}

void check_moments(const Run& run) {
  for (int64_t m = 0; m < kRows; ++m) {
    const Row x = row_of(run, "x", m);
    CHECK(is_same(run("mu", {m}), mean(x)));
    CHECK(is_same(run("var", {m}), variance(x)));
    CHECK(is_same(run("var2", {m}), variance(x)));
    CHECK(is_same(run("dev", {m}), std::sqrt(variance(x))));
    // A large mean costs nothing.
    CHECK(run("far", {m}) == Approx(variance(x)).epsilon(1e-8));
  }
}

void check_extremes(const Run& run) {
  for (int64_t m = 0; m < kRows; ++m) {
    const Row x = row_of(run, "x", m);
    CHECK(run("greatest", {m}) == static_cast<double>(first_extreme(x, 1)));
    CHECK(run("least", {m}) == static_cast<double>(first_extreme(x, -1)));
    CHECK(run("tied", {m}) == 0);
    CHECK(run("undefined", {m}) == 2);
    CHECK(run("lowest", {m}) == 0);
  }
}

void check_losses(const Run& run) {
  for (int64_t m = 0; m < kRows; ++m) {
    const Row x = row_of(run, "x", m);
    const double lse = logsumexp(x);
    const auto target = static_cast<size_t>(run("t", {m}));
    const double hard = lse - x[target];
    CHECK(is_same(run("plain", {m}), hard));
    CHECK(is_same(run("smooth", {m}), 0.75 * hard + 0.25 * (lse - mean(x)) + 0.5 * lse * lse));
    CHECK(is_same(run("ignored", {m}), target == 2 ? 0 : hard));
    CHECK(is_same(run("weighted", {m}), hard * run("w", {static_cast<int64_t>(target)})));
  }
}

void check_masks(const Run& run) {
  each([&](int64_t m, int64_t n) {
    const double x = run("x", {m, n});
    CHECK(run("hot", {m, n}) == (run("t", {m}) == static_cast<double>(n) ? 1 : 0));
    CHECK(run("seen", {m, n}) == (n <= m ? x : -std::numeric_limits<double>::infinity()));
    CHECK(run("kept", {m, n}) == (n < 6 ? x : -std::numeric_limits<double>::infinity()));
    CHECK(is_same(run("scaled", {m, n}), x + run("w", {n}) * run("y", {m, n})));
  });
}

void check_random(const Run& run) {
  each([&](int64_t m, int64_t n) {
    const double value = random_value(m * kColumns + n, 11, 3);
    CHECK(run("r", {m, n}) == value);
    CHECK(is_same(run("kept", {m, n}), value < 0.25 ? 0 : run("x", {m, n}) / 0.75));
  });
}

void check_stochastic(const Run& run) {
  each([&](int64_t m, int64_t n) {
    const double x = run("x", {m, n}), down = run("down", {m, n}), up = run("up", {m, n});
    // Eighths up to 2 need at most 3 bits behind the first.
    CHECK(run("exact", {m, n}) == x);
    const double unit = x == 0 ? 1 : std::exp2(std::ilogb(x * 1.1) - 2);
    const bool is_up = x != 0 && run("r", {m, n}) >= 1 - (x * 1.1 / unit - std::floor(x * 1.1 / unit));
    CHECK(down == (x == 0 ? 0 : (std::floor(x * 1.1 / unit) + (is_up ? 1 : 0)) * unit));
    CHECK(up == down);
  });
}

void check_packed(const Run& run) {
  constexpr double kMagnitudes[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  for (int64_t m = 0; m < kRows; ++m) {
    for (int64_t i = 0; i < kColumns / 2; ++i) {
      const auto byte = static_cast<int>(run("packed", {m, i}));
      for (int64_t half = 0; half < 2; ++half) {
        const int code = half == 0 ? byte % 16 : byte / 16;
        const double value = kMagnitudes[code % 8] * (code >= 8 ? -1 : 1);
        CHECK(value == round_to(2.5 * run("x", {m, 2 * i + half}), DType::E2M1));
        CHECK(run("code", {m, 2 * i + half}) == code);
      }
    }
  }
}

void check_groupnorm(const Run& run) {
  each([&](int64_t m, int64_t n) {
    const Row x = row_of(run, "x", m);
    const Row group(x.begin() + n / 4 * 4, x.begin() + n / 4 * 4 + 4);
    const double normed = (run("x", {m, n}) - mean(group)) / std::sqrt(variance(group) + 0.5);
    CHECK(is_same(run("z", {m, n}), normed * run("w", {n}) + run("b", {n})));
  });
}

/// Element n of a row whose elements [from, from + 2*count) are rotated by `angle(pair)`.
double rotated(const Row& x, int64_t n, int64_t from, int64_t count, const std::function<double(int64_t)>& angle) {
  if (n < from || n >= from + 2 * count) return x[static_cast<size_t>(n)];
  const int64_t pair = (n - from) % count;
  const double a = x[static_cast<size_t>(from + pair)], b = x[static_cast<size_t>(from + count + pair)];
  return n - from < count ? a * std::cos(angle(pair)) - b * std::sin(angle(pair))
                          : b * std::cos(angle(pair)) + a * std::sin(angle(pair));
}

void check_rope(const Run& run) {
  each([&](int64_t m, int64_t n) {
    const Row x = row_of(run, "x", m);
    const auto given = [&](int64_t pair) { return run("angle", {m, pair}); };
    CHECK(is_same(run("tail", {m, n}), rotated(x, n, 4, 2, given)));
    CHECK(is_same(run("middle", {m, n}), rotated(x, n, 2, 2, given)));
    const auto computed = [&](int64_t pair) { return run("t", {m}) * std::pow(100.0, -static_cast<double>(pair) / 4); };
    CHECK(is_same(run("at", {m, n}), rotated(x, n, 0, 4, computed)));
  });
}

void check_gates(const Run& run) {
  for (int64_t m = 0; m < kRows; ++m) {
    const Row x = row_of(run, "x", m);
    for (size_t i = 0; i < 4; ++i) {
      const auto clamped = [](double gate, double up) {
        const double g = std::min(gate, 1.0), u = std::min(std::max(up, -1.0), 1.0);
        return (u + 1) * g / (1 + std::exp(-2 * g));
      };
      const auto n = static_cast<int64_t>(i);
      CHECK(is_same(run("halved", {m, n}), clamped(x[i], x[i + 4])));
      CHECK(is_same(run("paired", {m, n}), clamped(x[2 * i], x[2 * i + 1])));
      const double gate = x[2 * i];
      CHECK(is_same(run("gelu2", {m, n}), 0.5 * gate * (1 + std::erf(gate * M_SQRT1_2)) * x[2 * i + 1]));
    }
  }
}

void check_joined(const Run& run) {
  for (int64_t m = 0; m < kRows; ++m) {
    const double a = run("x", {m, 0}), b = run("x", {m, 1});
    // Two groups of 3 elements that are all a, and all b.
    CHECK(is_same(run("n", {m}), 6));
    CHECK(is_same(run("mu", {m}), (a + b) / 2));
    CHECK(is_same(run("squares", {m}), 6 * (a - b) * (a - b) / 4));
    CHECK(run("best", {m}) == std::max(a, b));
  }
}

}  // namespace

const std::vector<PreludeProgram>& prelude_programs() {
  static const std::vector<PreludeProgram> programs = {
      {{"moments", "variance", "deviation"},
       R"(kernel f(x: f32[M, N]) -> (mu: f32[M], var: f32[M], var2: f32[M], dev: f32[M], far: f32[M]) {
    (mu, var) = moments(x, over = N)
    var2 = variance(x, over = N)
    dev = deviation(x, N)
    far = variance(x + 10000, over = N)
}
)",
       check_moments},
      {{"argmax", "argmin", "infinity"},
       R"(kernel f(x: f32[M, N]) -> (greatest: i64[M], least: i64[M], tied: i32[M], undefined: i64[M], lowest: i64[M]) {
    greatest = argmax(x, over = N)
    least = argmin(x, over = N)
    tied = i32(argmax(x * 0, over = N))
    undefined = argmax(select(index(N) < 2, x, infinity() - infinity()), over = N)
    lowest = argmax(select(x == x, -infinity(), x), over = N)
}
)",
       check_extremes},
      {{"softmax_cross_entropy", "weighted_cross_entropy"},
       R"(kernel f(x: f32[M, N], t: i64[M], w: f32[N]) -> (plain: f32[M], smooth: f32[M], ignored: f32[M], weighted: f32[M]) {
    plain = softmax_cross_entropy(x, t)
    smooth = softmax_cross_entropy(x, t, smoothing = 0.25, z_weight = 0.5)
    ignored = softmax_cross_entropy(x, t, ignore = 2)
    weighted = weighted_cross_entropy(x, t, w)
}
)",
       check_losses},
      {{"one_hot", "causal", "keep_first", "layerscale"},
       R"(kernel f(x: f32[M, N], y: f32[M, N], w: f32[N], t: i64[M])
    -> (hot: f32[M, N], seen: f32[M, N], kept: f32[M, N], scaled: f32[M, N]) {
    hot = one_hot(t, N)
    seen = causal(x, M, N)
    kept = keep_first(x, 6)
    scaled = layerscale(x, y, w)
}
)",
       check_masks},
      {{"random", "dropout"},
       R"(kernel f(x: f32[M, N]) -> (r: f32[M, N], kept: f32[M, N]) {
    r = random(x, 11, offset = 3)
    kept = dropout(x, 0.25, 11, offset = 3)
}
)",
       check_random},
      {{"stochastic"},
       R"(kernel f(x: f32[M, N]) -> (exact: f32[M, N], down: f32[M, N], up: f32[M, N], r: f32[M, N]) {
    exact = select(x == 0, 0, stochastic(x, 4, 5))
    down = select(x == 0, 0, stochastic(1.1 * x, 2, 5))
    up = down
    r = random(x, 5)
}
)",
       check_stochastic},
      {{"e2m1_code", "pack_e2m1"},
       R"(kernel f(x: f32[M, N]) -> (packed: u8[M, N/2], code: f32[M, N]) {
    packed = pack_e2m1(2.5 * x)
    code = e2m1_code(e2m1(2.5 * x))
}
)",
       check_packed},
      {{"groupnorm"},
       R"(kernel f(x: f32[M, N], w: f32[N], b: f32[N]) -> (z: f32[M, N]) {
    z = groupnorm(x, w, b, 4, eps = 0.5)
}
)",
       check_groupnorm},
      {{"rope_last", "rope_offset", "rope_at", "rope_frequency"},
       R"(kernel f(x: f32[M, N], angle: f32[M, R/2], t: i64[M]) -> (tail: f32[M, N], middle: f32[M, N], at: f32[M, N]) {
    tail = rope_last(x, cos(angle), sin(angle))
    middle = rope_offset(x, cos(angle), sin(angle), 2)
    at = rope_at(x, t, rope_frequency(N/2, base = 100))
}
)",
       check_rope},
      {{"swiglu_clamped", "swiglu_clamped_pairs", "clamped_gate", "geglu_pairs"},
       R"(kernel f(x: f32[M, N]) -> (halved: f32[M, N/2], paired: f32[M, N/2], gelu2: f32[M, N/2]) {
    halved = swiglu_clamped(x, limit = 1, alpha = 2)
    paired = swiglu_clamped_pairs(x, limit = 1, alpha = 2)
    gelu2 = geglu_pairs(x)
}
)",
       check_gates},
      {{"join_moments", "first_greatest"},
       R"(fn both(a, b) {
    let (n, mean, squares) = join_moments((3, a, 0), (3, b, 0))
    let (best, at) = first_greatest((a, 0), (b, 1))
    (n, mean, squares, best + 0*at)
}

kernel f(x: f32[M, N]) -> (n: f32[M], mu: f32[M], squares: f32[M], best: f32[M]) {
    (n, mu, squares, best) = both(gather(x, N = 0), gather(x, N = 1))
}
)",
       check_joined},
  };
  return programs;
}

}  // namespace coda::test
