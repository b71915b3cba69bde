// Kernels that once gave wrong numbers, each with its whole kind: run on the host and compared with the reference.
#include <catch2/catch.hpp>

#include "runtime/kernel.h"
#include "tests/cli/run_block.h"

using namespace coda;
using namespace coda::testing;

namespace {

void check(const std::string& text, const Bindings& dims) {
  const BlockRun run = run_block(text, dims, 7);
  std::string sizes;
  for (const auto& [name, value] : dims) sizes += " " + name + "=" + std::to_string(value);
  INFO(text << sizes << "\n" << run.message);
  CHECK(run.compiled);
  CHECK(run.right);
}

}  // namespace

TEST_CASE("a statistic is of the value that the program names, whatever type an output stores it in") {
  for (const char* type : {"f32", "bf16", "f16", "e4m3", "e5m2"}) {
    for (const char* reduction : {"sum", "max", "absmax", "logsumexp"}) {
      const std::string y = std::string("(y: ") + type + "[M, N], r: f32[M], c: f32[N])";
      const std::string stores =
          std::string("  y = z\n  r = ") + reduction + "(z, over = N)\n  c = " + reduction + "(z, over = M)\n}\n";
      check("kernel k(x: bf16[M, K], w: bf16[N, K]) -> " + y + " {\n  let z = x @ w.T\n" + stores,
            {{"M", 19}, {"K", 16}, {"N", 23}});
      check("kernel k(x: f32[M, N]) -> " + y + " {\n  let z = 0.7 * x\n" + stores, {{"M", 19}, {"N", 23}});
    }
  }
}

TEST_CASE("parts of a product meet in one element, however near they are") {
  for (const int64_t n : {1, 7, 8, 16, 40, 64, 65, 128, 300}) {
    const std::string fixed = " where N = " + std::to_string(n);
    for (const std::string& where : {std::string(), fixed}) {
      const Bindings dims = where.empty() ? Bindings{{"M", 9}, {"K", 16}, {"N", n}} : Bindings{{"M", 9}, {"K", 16}};
      const std::string head = "kernel k(x: bf16[M, K], w: bf16[2*N, K]) -> (y: bf16[M, N])" + where + " {\n";
      check(head + "  let (p, q) = halves(x @ w.T)\n  y = p - 2*q\n}\n", dims);
      check(head + "  let (p, q) = halves(x @ w.T)\n  y = q * p\n}\n", dims);
      check(head + "  let (p, q) = pairs(x @ w.T)\n  y = p - 2*q\n}\n", dims);
    }
    check("kernel k(x: bf16[M, K], w: bf16[3*N, K]) -> (y: bf16[M, N])" + fixed +
              " {\n  let (p, q, r) = split(x @ w.T, N, N, N)\n  y = r - 2*q + 3*p\n}\n",
          {{"M", 9}, {"K", 16}});
  }
}

TEST_CASE("rotations of a part of the columns") {
  for (const int64_t rotary : {2, 8, 16, 30}) {
    for (const int64_t rest : {0, 2, 34}) {
      check(
          "kernel k(x: bf16[M, K], w: bf16[N, K], c: f32[M, R], s: f32[M, R]) -> (y: bf16[M, N]) {\n"
          "  y = rope_partial(x @ w.T, c, s)\n}\n",
          {{"M", 9}, {"K", 16}, {"R", rotary / 2}, {"N", rotary + rest}});
    }
  }
}

TEST_CASE("a part that leaves its dimension is refused, by the compiler or before a launch") {
  const std::string text =
      "kernel k(x: bf16[M, N]) -> (y: bf16[M, A]) {\n  let (a, b) = split(x, A, N - A)\n  y = a\n}\n";
  check(text, {{"M", 3}, {"N", 16}, {"A", 9}});
  check(text, {{"M", 3}, {"N", 16}, {"A", 16}});
  const BlockRun bound = run_block(text, {{"M", 3}, {"N", 16}, {"A", 40}}, 1);
  CHECK_FALSE(bound.compiled);
  CHECK(bound.message.find("`A <= N` does not hold for A = 40, N = 16") != std::string::npos);

  CompileRequest request{.path = "k.coda", .text = text, .target = "host"};
  Compilation compilation = compile(request);
  REQUIRE(compilation.ok());
  auto kernel = prepare(std::make_shared<const Image>(*compilation.take_image()), kHostDevice);
  REQUIRE(kernel.ok());
  auto x = HostTensor::create(DType::BF16, {3, 16}), y = HostTensor::create(DType::BF16, {3, 40});
  const Argument arguments[] = {x->view(), y->view()};
  CHECK((*kernel)->launch(arguments, nullptr).message().find("requires A <= N, but A = 40") != std::string::npos);
}

TEST_CASE("a zero that the program writes meets infinities as IEEE 754 says, and keeps its dimensions") {
  const std::vector<std::string> values = {"0*z", "z*0", "0/z", "sign(z)*0", "z*(1 - 1)", "select(true, 0, z)", "z**0"};
  for (const std::string& value : values) {
    check("kernel k(z: f32[M, N]) -> (y: f32[M, N], r: f32[M], s: f32[M], t: f32[N]) {\n  let v = " + value +
              "\n  y = v + z\n  r = 1 + max(v, over = N)\n  s = sum(v + 1, over = N)\n  t = 1 + sum(bf16(v), over = "
              "M)\n}\n",
          {{"M", 5}, {"N", 9}});
    check(
        "kernel k(x: bf16[M, K], w: bf16[N, K], t: i64[M]) -> (y: f32[M, N], r: f32[M], g: f32[M]) {\n"
        "  let z = x @ w.T\n  let v = " +
            value + "\n  y = v + z\n  r = logsumexp(v, over = N)\n  g = 2 + gather(v, N = t)\n}\n",
        {{"M", 5}, {"K", 16}, {"N", 9}});
    check("block k(z: f32[M, N]) -> (r: f32[M], s: f32[M]) {\n  let v = " + value +
              "\n  r = 1 + max(v, over = N)\n  s = sum(v + z, over = N)\n}\n",
          {{"M", 5}, {"N", 9}});
  }
}
