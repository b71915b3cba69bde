// What the language makes of reductions of the program's own, random values and quantisation, on the host: in every
// place where a reduction can finish, at ragged sizes, with NaN and infinities.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include "host_case.h"

using namespace coda;
using namespace coda::test;

namespace {

void run_sizes(const HostProgram& program, HostRun run, const std::vector<Bindings>& sizes) {
  for (const Bindings& each : sizes) {
    run.sizes = each;
    run_and_check(program, run);
  }
}

const std::vector<Bindings> kSizes = {
    {{"M", 1}, {"N", 1}, {"K", 3}},    {{"M", 7}, {"N", 130}, {"K", 20}}, {{"M", 130}, {"N", 7}, {"K", 20}},
    {{"M", 33}, {"N", 290}, {"K", 9}}, {{"M", 0}, {"N", 5}, {"K", 4}},    {{"M", 5}, {"N", 0}, {"K", 4}},
    {{"M", 5}, {"N", 17}, {"K", 0}},
};

}  // namespace

TEST_CASE("host: argmax and argmin of rows, columns and heads", "[host]") {
  const HostProgram program = compile_for_host(R"(
kernel f(x: bf16[M, K], w: bf16[N, K]) -> (row: i64[M], last: i32[M], column: i64[N], least: i64[N]) {
    let z = x @ w.T
    row = argmax(z, over = N)
    last = i32(argmin(z, over = N))
    column = argmax(z, over = M)
    least = argmin(z, over = M)
}
)");
  run_sizes(program, {}, kSizes);
  run_sizes(program, {.non_finite = true}, kSizes);
  const HostProgram heads = compile_for_host(R"(
kernel f(x: bf16[M, K], w: bf16[H*Dh, K]) -> (y: i64[M, H], z: f32[M, H, Dh]) {
    let a = group(x @ w.T, Dh)
    y = argmax(a, over = Dh)
    z = select(index(Dh) == argmax(a, over = Dh), a, 0)
}
)",
                                             {{"Dh", 24}});
  for (const bool non_finite : {false, true}) {
    run_sizes(heads, {.non_finite = non_finite}, {{{"M", 9}, {"H", 5}, {"K", 7}}, {{"M", 40}, {"H", 1}, {"K", 0}}});
  }
}

TEST_CASE("host: moments in one pass, of rows, columns and everything in a head", "[host]") {
  const HostProgram program = compile_for_host(R"(
kernel f(x: bf16[M, K], w: bf16[N, K], b: f32) -> (mu: f32[M], var: f32[M], column: f32[N], far: f32[M]) {
    let z = x @ w.T
    (mu, var) = moments(z, over = N)
    column = variance(z, over = M)
    far = variance(z + 1000 * b, over = N)
}
)");
  run_sizes(program, {.ulps = 4000}, {kSizes[1], kSizes[2], kSizes[3], kSizes[4], kSizes[5]});
  run_sizes(program, {.non_finite = true, .ulps = 4000}, {kSizes[1], kSizes[2]});
  const HostProgram heads = compile_for_host(R"(
kernel f(x: bf16[M, K], w: bf16[H*Dh, K]) -> (y: f32[M, H, Dh]) {
    let a = group(x @ w.T, Dh)
    let (mean, spread) = moments(a, over = Dh)
    y = (a - mean) * rsqrt(spread + 0.5)
}
)",
                                             {{"Dh", 24}});
  run_sizes(heads, {.ulps = 400}, {{{"M", 9}, {"H", 5}, {"K", 7}}});
}

TEST_CASE("host: a reduction of several words over everything", "[host]") {
  const HostProgram program = compile_for_host(R"(
fn longer(a, b) {
    let (x, n, y, m) = a
    let (u, k, v, l) = b
    (x + u, n + k, max(y, v), min(m, l))
}
kernel f(x: bf16[M, K], w: bf16[N, K]) -> (total: f32, count: f32, most: f32, least: f32) {
    let z = x @ w.T
    let (t, c, g, s) = reduce((z, select(z > 0, 1, 0), z, z), over = (M, N), identity = (0, 0, -infinity(), infinity()),
                              combine = longer)
    total = t
    count = c
    most = g
    least = s
}
)");
  run_sizes(program, {.ulps = 400}, kSizes);
}

TEST_CASE("host: random values are the same bits as the reference's", "[host]") {
  const HostProgram program = compile_for_host(R"(
kernel f(x: bf16[M, K], w: bf16[N, K], seed: i64, p: f32) -> (bits: i64[M, N], y: f32[M, N], t: f32[N, M]) {
    let z = x @ w.T
    bits = random_bits(element(z), seed, 5)
    y = dropout(z, p, seed, offset = 1)
    t = random(z, seed) + 0*z
}
)");
  for (const double seed : {0.0, 7.0, 4294967296.0 * 3 + 1, -5.0}) {
    run_sizes(program, {.scalars = {{"seed", seed}, {"p", 0.25}}, .ulps = 1}, kSizes);
  }
}

TEST_CASE("host: quantised blocks have the reference's bits where scales are powers of two", "[host]") {
  const HostProgram program = compile_for_host(R"(
kernel f(x: bf16[M, K], w: bf16[N, K])
    -> (a: e4m3[M, N], sa: ue8m0[M, N/32], b: e5m2[M, N], sb: ue8m0[M, N/32], c: i8[M, N], sc: ue8m0[M, N/16]) {
    let z = x @ w.T
    (a, sa) = quantize(z, e4m3, over = 32, scale = ue8m0, round = floor)
    (b, sb) = quantize(z, e5m2, over = 32, scale = ue8m0)
    (c, sc) = quantize(z, i8, over = 16, scale = ue8m0, round = ceil)
}
)");
  const std::vector<Bindings> sizes = {
      {{"M", 9}, {"N", 96}, {"K", 7}}, {{"M", 3}, {"N", 352}, {"K", 30}}, {{"M", 2}, {"N", 32}, {"K", 0}}};
  run_sizes(program, {.ulps = 0}, sizes);
  run_sizes(program, {.range = 1e-4, .ulps = 0}, sizes);
  run_sizes(program, {.range = 3e5, .ulps = 0}, sizes);
}

TEST_CASE("host: packed fours and laid out scales have the reference's bits", "[host]") {
  // Where scales are powers of two nothing is rounded but the elements.
  const HostProgram program = compile_for_host(R"(
kernel f(x: bf16[M, K], w: bf16[2*H, K])
    -> (a: u8[M, H], sa: ue8m0[M, H/8] layout mx128x4, b: u8[M, H/2], sb: ue8m0[M, H/16] layout mx128x4,
        c: e4m3[M, H], sc: ue8m0[M, H/32] layout mx128x4) {
    let z = x @ w.T
    let (p, s) = quantize(z, e2m1, over = 16, scale = ue8m0)
    a = pack_e2m1(p)
    sa = s
    let (gate, up) = pairs(z)
    let (q, t) = quantize(relu(gate) - up, e2m1, over = 16, scale = ue8m0, round = floor)
    b = pack_e2m1(q)
    sb = t
    (c, sc) = quantize(relu(gate) + 2*up, e4m3, over = 32, scale = ue8m0)
}
)");
  const std::vector<Bindings> sizes = {{{"M", 9}, {"H", 96}, {"K", 7}},    {{"M", 130}, {"H", 32}, {"K", 5}},
                                       {{"M", 300}, {"H", 352}, {"K", 4}}, {{"M", 2}, {"H", 32}, {"K", 0}},
                                       {{"M", 0}, {"H", 32}, {"K", 3}},    {{"M", 5}, {"H", 0}, {"K", 3}}};
  run_sizes(program, {.ulps = 0}, sizes);
  run_sizes(program, {.pitch = 3, .range = 3e5, .ulps = 0}, sizes);
}

TEST_CASE("host: NVFP4 as its definition says") {
  // A scale is the largest magnitude over 6, rounded to e4m3; elements are divided by it, rounded to the nearest code
  // of 0, 0.5, 1, 1.5, 2, 3, 4, 6, ties to the even code, and saturate.
  const HostProgram program = compile_for_host(R"(
kernel f(x: f32[M, K], w: f32[2*H, K]) -> (y: u8[M, H], scale: e4m3[M, H/8]) {
    let (q, s) = quantize(x @ w.T, e2m1, over = 16, scale = e4m3)
    y = pack_e2m1(q)
    scale = s
}
)");
  const HostResult result =
      run_and_check(program, {.sizes = {{"M", 40}, {"H", 32}, {"K", 1}}, .units = 1, .ulps = 0x1p20});
  const HostArray &x = result.arrays.at("x"), &w = result.arrays.at("w");
  const HostArray &y = result.arrays.at("y"), &scale = result.arrays.at("scale");
  constexpr double kCodes[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  for (int64_t row = 0; row < 40; ++row) {
    for (int64_t block = 0; block < 4; ++block) {
      const auto product = [&](int64_t i) { return x.at(row) * w.at(16 * block + i); };
      double amax = 0;
      for (int64_t i = 0; i < 16; ++i) amax = std::max(amax, std::fabs(product(i)));
      const double s = amax == 0 ? 1 : round_to(amax / 6, DType::E4M3);
      CHECK(scale.at(4 * row + block) == s);
      for (int64_t i = 0; i < 16; ++i) {
        const double wanted = std::fabs(product(i) / s);
        int best = 0;
        for (int code = 1; code < 8; ++code) {
          const double nearer = std::fabs(wanted - kCodes[code]) - std::fabs(wanted - kCodes[best]);
          if (nearer < 0 || (nearer == 0 && code % 2 == 0)) best = code;
        }
        const auto byte = static_cast<int>(y.at(32 * row + 8 * block + i / 2));
        const int code = i % 2 == 0 ? byte % 16 : byte / 16;
        INFO("row " << row << ", element " << i << " of block " << block << ": " << product(i) << " / " << s);
        CHECK(code % 8 == best);
        if (best > 0) CHECK((code >= 8) == (product(i) < 0));
      }
    }
  }
}
