// Epilogues on the host: elementwise work, regions and segments, regroupings, statistics with the finish stage, inout.
#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>

#include "host_case.h"
#include "tests/source_root.h"

using namespace coda;
using namespace coda::test;

namespace {

std::string example(const std::string& name) {
  std::ifstream file(source_root() + "/examples/" + name);
  std::ostringstream text;
  text << file.rdbuf();
  REQUIRE(file);
  return text.str();
}

const std::vector<int64_t> kRagged = {1, 2, 3, 7, 17, 31, 65, 127, 129, 290};

/// Every size of `kRagged` for each symbol in turn, the others being moderate.
void run_ragged(const HostProgram& program, const Bindings& moderate, HostRun run = {}) {
  for (const auto& [name, value] : moderate) {
    for (const int64_t size : kRagged) {
      run.sizes = moderate;
      run.sizes[name] = size;
      run_and_check(program, run);
    }
    run.sizes = moderate;
    run.sizes[name] = 0;
    run_and_check(program, run);
  }
}

}  // namespace

TEST_CASE("host: bias and GELU", "[host]") {
  run_ragged(compile_for_host(example("bias_gelu.coda")), {{"M", 40}, {"N", 70}, {"K", 30}});
}

TEST_CASE("host: gate and up with SwiGLU", "[host]") {
  run_ragged(compile_for_host(example("gate_up.coda")), {{"M", 40}, {"F", 70}, {"K", 30}});
}

TEST_CASE("host: residual with a scaled copy and row sums of squares", "[host]") {
  run_ragged(compile_for_host(example("residual.coda")), {{"M", 40}, {"N", 70}, {"K", 30}}, {.ulps = 64});
}

TEST_CASE("host: q and k and v with rotation", "[host]") {
  for (const int64_t head : {2, 6, 16, 64, 128}) {
    const HostProgram program = compile_for_host(example("qkv_rope.coda"), {{"Dh", head}, {"Hkv", 2}, {"Hq", 3}});
    run_ragged(program, {{"M", 20}, {"D", 30}}, {.ulps = 64});
  }
}

TEST_CASE("host: linear cross-entropy", "[host]") {
  const HostProgram program = compile_for_host(example("linear_ce.coda"));
  run_ragged(program, {{"M", 20}, {"D", 30}, {"V", 600}}, {.range = 0.5, .ulps = 64});
}

TEST_CASE("host: statistics of rows and columns and everything", "[host]") {
  for (const std::string reduction : {"sum", "mean", "max", "min", "absmax", "logsumexp"}) {
    const HostProgram program = compile_for_host(
        "kernel stats(x: bf16[M, K], w: bf16[N, K]) -> (r: f32[M], c: f32[N], a: f32) {\n"
        "    let z = x @ w.T\n"
        "    r = " +
        reduction +
        "(z, over = N)\n"
        "    c = " +
        reduction +
        "(z, over = M)\n"
        "    a = " +
        reduction + "(z, over = (M, N))\n}\n");
    run_ragged(program, {{"M", 150}, {"N", 300}, {"K", 20}}, {.range = 0.5, .ulps = 200});
  }
}

TEST_CASE("host: statistics used by the finish stage with other inputs", "[host]") {
  const HostProgram program = compile_for_host(
      "kernel f(x: bf16[M, K], w: bf16[N, K], g: f32[N], s: f32[M], eps: f32) -> (y: bf16[M, N], r: f32[M], c: f16[N]) "
      "{\n"
      "    let z = x @ w.T\n"
      "    y = z * 2 + g\n"
      "    r = rsqrt(mean(z*z, over = N) + eps) * s\n"
      "    c = max(abs(z), over = M) * g\n}\n");
  run_ragged(program, {{"M", 150}, {"N", 300}, {"K", 20}}, {.scalars = {{"eps", 0.25}}, .ulps = 64});
}

TEST_CASE("host: norm in a head", "[host]") {
  for (const int64_t head : {3, 16, 40, 64}) {
    const HostProgram program = compile_for_host(
        "kernel f(x: bf16[M, K], w: bf16[H*Dh, K], g: bf16[Dh]) -> (y: f32[M, H, Dh], top: f32[M, H]) {\n"
        "    let z = group(x @ w.T, Dh)\n"
        "    y = rmsnorm(z, g)\n"
        "    top = max(z, over = Dh)\n}\n",
        {{"Dh", head}});
    run_ragged(program, {{"M", 20}, {"H", 9}, {"K", 20}}, {.ulps = 64});
  }
}

TEST_CASE("host: interleaved pairs", "[host]") {
  const HostProgram program = compile_for_host(
      "kernel f(x: bf16[M, K], w: bf16[2*F, K]) -> (y: f32[M, F], z: bf16[M, F]) {\n"
      "    let (a, b) = pairs(x @ w.T)\n"
      "    y = a * sigmoid(b)\n"
      "    z = b - a\n}\n");
  run_ragged(program, {{"M", 20}, {"F", 90}, {"K", 20}}, {.ulps = 64});
}

TEST_CASE("host: an optimizer step in place", "[host]") {
  const HostProgram program = compile_for_host(
      "kernel adamw(x: bf16[T, K], dz: bf16[T, N], inout p: f32[N, K], inout m: f32[N, K], inout v: f32[N, K],\n"
      "             lr: f32, b1: f32, b2: f32, eps: f32, wd: f32) -> (w: bf16[N, K]) {\n"
      "    let g = dz.T @ x\n"
      "    m = b1*m + (1 - b1)*g\n"
      "    v = b2*abs(v) + (1 - b2)*g*g\n"
      "    p = p*(1 - lr*wd) - lr*m / (sqrt(v) + eps)\n"
      "    w = p\n}\n");
  run_ragged(program, {{"T", 33}, {"K", 70}, {"N", 50}}, {.ulps = 64});
}

TEST_CASE("host: strided tensors of every kind", "[host]") {
  const HostProgram program = compile_for_host(
      "kernel f(x: f16[M, K], w: f16[N, K], b: bf16[N], s: f32[M], r: f32[M, N], t: i32[M, N], k: bool[M, N], o: "
      "u8[N])\n"
      "    -> (y: bf16[M, N], q: e4m3[M, N], i: i32[M, N], big: f32[M]) {\n"
      "    let z = (x @ w.T) * s + b + r + t\n"
      "    y = select(k, z, -z)\n"
      "    q = z / 8\n"
      "    i = t * o - 1\n"
      "    big = max(z, over = N)\n}\n");
  for (const int64_t stride : {1, 2, 3}) {
    for (const int64_t pitch : {0, 1, 16}) {
      run_and_check(program, {.sizes = {{"M", 33}, {"N", 71}, {"K", 12}}, .pitch = pitch, .last_stride = stride});
    }
  }
}

TEST_CASE("host: tables, positions and rigid casts", "[host]") {
  // Indices go from 0 to 3: the last one lies outside the table and reads 0.
  const HostProgram program = compile_for_host(
      "kernel f(x: bf16[M, K], w: bf16[N, K], e: bf16[V, N], t: i64[M]) -> (y: f32[M, N], q: f32[M, N], p: i32[M, N]) "
      "{\n"
      "    let z = x @ w.T\n"
      "    y = z + gather(e, V = t)\n"
      "    let h: bf16 = z * 1.5\n"
      "    q = select(mod(index(N), 3) == 0, h, -h)\n"
      "    p = index(M) * 1000 + index(N)\n}\n");
  Bindings sizes = {{"M", 40}, {"N", 70}, {"K", 20}, {"V", 3}};
  run_ragged(program, sizes);
  run_and_check(program, {.sizes = sizes, .pitch = 2, .last_stride = 2});
}

TEST_CASE("host: several row dimensions", "[host]") {
  const HostProgram program = compile_for_host(
      "kernel f(x: bf16[B, T, K], w: bf16[N, K], p: f32[T, N], s: f32[B]) -> (y: f32[B, N, T], m: f32[B, T]) {\n"
      "    let z = (x @ w.T + p) * s\n"
      "    y = z\n"
      "    m = max(z, over = N)\n}\n");
  run_ragged(program, {{"B", 3}, {"T", 50}, {"N", 20}, {"K", 10}});
}

TEST_CASE("host: a join beside a regrouping of the whole", "[host]") {
  const HostProgram program = compile_for_host(R"(
kernel f(x: bf16[M, K], w: bf16[2*H*Dh, K], g: f32[Dh]) -> (y: bf16[M, 2*H*Dh], p: f32[M, H*Dh]) {
    let z = x @ w.T
    let (a, b) = halves(z)
    y = join_halves(relu(a), b) * flatten(group(z, Dh) * g)
    p = a + flatten(group(b, Dh) * g)
}
)",
                                               {{"Dh", 8}});
  for (const int64_t heads : {1, 3, 20}) {
    run_and_check(program, {.sizes = {{"M", 70}, {"K", 30}, {"H", heads}}});
  }
}

TEST_CASE("host: the non-finite stays in its row through an epilogue", "[host]") {
  const HostProgram program = compile_for_host(
      "kernel f(x: bf16[M, K], w: bf16[N, K]) -> (y: bf16[M, N], s: f32[M], l: f32[M], m: f32[M]) {\n"
      "    let z = x @ w.T\n"
      "    y = gelu_tanh(z)\n"
      "    s = sum(z, over = N)\n"
      "    l = logsumexp(z, over = N)\n"
      "    m = max(z, over = N)\n}\n");
  run_and_check(program, {.sizes = {{"M", 30}, {"N", 333}, {"K", 20}}, .non_finite = true, .ulps = 64});
}

TEST_CASE("host: results do not depend on the number of threads", "[host]") {
  const HostProgram program = compile_for_host(
      "kernel f(x: f32[M, K], w: f32[N, K]) -> (y: f32[M, N], s: f32[M], c: f32[N], a: f32) {\n"
      "    let z = x @ w.T\n"
      "    y = exp(z * 0.01)\n"
      "    s = sum(z, over = N)\n"
      "    c = logsumexp(z, over = M)\n"
      "    a = sum(z*z, over = (M, N))\n}\n");
  HostRun run{.sizes = {{"M", 700}, {"N", 900}, {"K", 300}}, .threads = 1, .range = 1.3, .ulps = 2000};
  const HostResult one = run_and_check(program, run);
  for (const int threads : {2, 3, 7}) {
    run.threads = threads;
    const HostResult many = run_and_check(program, run);
    for (const auto& [name, array] : one.arrays) {
      INFO(name << " with " << threads << " threads");
      REQUIRE(array.bytes == many.arrays.at(name).bytes);
    }
  }
}

TEST_CASE("host: functions over their whole range", "[host]") {
  // The product has no terms: the epilogue alone.
  const std::string text =
      "kernel f(x: f32[M, K], w: f32[N, K], v: f32[M, N]) -> (y: f32[M, N]) {\n"
      "    let z = v + x @ w.T\n"
      "    y = ";
  struct Case {
    const char* expression;
    std::vector<double> ranges;
    double ulps;
  };
  for (const Case& c :
       {Case{"exp2(z)", {1e-3, 1, 30, 120, 140, 1e4}, 2}, Case{"log2(z)", {1e-40, 1e-38, 1e-3, 1, 2, 1e6, 3e38}, 2},
        Case{"sin(z)", {1e-3, 1, 30, 1e4, 1e8, 1e12, 1e38}, 2}, Case{"cos(z)", {1e-3, 1, 30, 1e4, 1e8, 1e12, 1e38}, 2},
        Case{"rsqrt(abs(z))", {1e-30, 1, 1e30}, 2}, Case{"exp(z)", {1e-3, 1, 30, 88}, 4},
        Case{"tanh(z)", {1e-3, 0.3, 2, 40}, 4}}) {
    const HostProgram program = compile_for_host(text + c.expression + "\n}\n");
    for (const double range : c.ranges) {
      // 33 multiples of range/16 a sign; several odd ranges near each other fill the gaps.
      for (const double scale : {1.0, 0.937, 0.8113, 0.7001, 0.6203, 0.55007}) {
        run_and_check(
            program,
            {.sizes = {{"M", 3}, {"N", 50}, {"K", 0}}, .range = range * scale, .relative = true, .ulps = c.ulps});
      }
    }
  }
}
