// The product itself on the host: layouts, element types, ragged and empty sizes.
#include <catch2/catch.hpp>

#include "host_case.h"
#include "runtime/host_kernels.h"

using namespace coda;
using namespace coda::test;

namespace {

std::string gemm(const std::string& a, const std::string& b, const std::string& product, const std::string& type,
                 const std::string& out, const std::string& second_type = "") {
  return "kernel gemm(x: " + type + a + ", w: " + (second_type.empty() ? type : second_type) + b + ") -> (y: " + out +
         "[M, N]) {\n    y = " + product + "\n}\n";
}

}  // namespace

TEST_CASE("host: plain products in every layout and operand type", "[host]") {
  const std::string layouts[][3] = {{"[M, K]", "[N, K]", "x @ w.T"},
                                    {"[M, K]", "[K, N]", "x @ w"},
                                    {"[K, M]", "[N, K]", "x.T @ w.T"},
                                    {"[K, M]", "[K, N]", "x.T @ w"}};
  for (const auto& [a, b, product] : layouts) {
    for (const std::string type : {"bf16", "f16", "f32"}) {
      const HostProgram program = compile_for_host(gemm(a, b, product, type, "f32"));
      for (const auto [m, n, k] : {std::array<int64_t, 3>{1, 1, 1}, {7, 31, 17}, {129, 65, 3}, {145, 257, 300}}) {
        run_and_check(program, {.sizes = {{"M", m}, {"N", n}, {"K", k}}});
        run_and_check(program, {.sizes = {{"M", m}, {"N", n}, {"K", k}}, .pitch = 3});
      }
    }
  }
}

TEST_CASE("host: products of 8-bit floats, also of two kinds", "[host]") {
  for (const auto& [a, b] :
       {std::pair<const char*, const char*>{"e4m3", "e4m3"}, {"e5m2", "e5m2"}, {"e4m3", "e5m2"}, {"e5m2", "e4m3"}}) {
    for (const std::string product : {"x @ w.T", "x @ w"}) {
      const std::string shape = product == "x @ w" ? "[K, N]" : "[N, K]";
      const HostProgram program = compile_for_host(gemm("[M, K]", shape, product, a, "f32", b));
      for (const auto [m, n, k] : {std::array<int64_t, 3>{1, 1, 1}, {7, 31, 17}, {145, 257, 300}, {5, 6, 0}}) {
        run_and_check(program, {.sizes = {{"M", m}, {"N", n}, {"K", k}}});
      }
    }
  }
}

TEST_CASE("host: ragged sizes", "[host]") {
  const HostProgram program = compile_for_host(gemm("[M, K]", "[N, K]", "x @ w.T", "bf16", "bf16"));
  for (const int64_t m : {1, 2, 3, 7, 12, 13, 17, 31, 65, 127, 129, 144, 289}) {
    for (const int64_t n : {1, 2, 3, 7, 15, 16, 17, 31, 32, 33, 65, 127, 129, 256, 257, 513}) {
      run_and_check(program, {.sizes = {{"M", m}, {"N", n}, {"K", (m * 7 + n) % 70}}});
    }
  }
}

TEST_CASE("host: deep products in several passes", "[host]") {
  const HostProgram program = compile_for_host(gemm("[M, K]", "[N, K]", "x @ w.T", "f32", "f32"));
  for (const int64_t k : {255, 256, 257, 512, 1000, 5000}) {
    // Multiples of 1/8 up to 2: sums below 2^24 units are exact in f32.
    run_and_check(program, {.sizes = {{"M", 33}, {"N", 47}, {"K", k}}, .ulps = 1});
  }
}

TEST_CASE("host: empty dimensions", "[host]") {
  const HostProgram program = compile_for_host(gemm("[M, K]", "[N, K]", "x @ w.T", "bf16", "f32"));
  for (const auto [m, n, k] : {std::array<int64_t, 3>{0, 5, 5}, {5, 0, 5}, {5, 5, 0}, {0, 0, 0}}) {
    run_and_check(program, {.sizes = {{"M", m}, {"N", n}, {"K", k}}});
  }
}

TEST_CASE("host: every output type with any strides", "[host]") {
  for (const std::string out : {"f32", "f16", "bf16", "e4m3", "e5m2", "i64", "i32", "i8", "u8"}) {
    const bool whole = out[0] == 'i' || out[0] == 'u';
    const HostProgram program =
        compile_for_host(gemm("[M, K]", "[N, K]", whole ? "to_int(3 * (x @ w.T))" : "3 * (x @ w.T)", "bf16", out));
    for (const int64_t k : {1, 5, 40, 900}) {
      for (const int64_t n : {3, 64, 77}) {
        run_and_check(program, {.sizes = {{"M", 37}, {"N", n}, {"K", k}}});
        run_and_check(program, {.sizes = {{"M", 37}, {"N", n}, {"K", k}}, .pitch = 5});
        run_and_check(program, {.sizes = {{"M", 37}, {"N", n}, {"K", k}}, .pitch = 1, .last_stride = 2});
      }
    }
  }
  run_and_check(compile_for_host(gemm("[M, K]", "[N, K]", "x @ w.T > 0.5", "bf16", "bool")),
                {.sizes = {{"M", 37}, {"N", 77}, {"K", 20}}});
}

TEST_CASE("host: the non-finite stays in its row", "[host]") {
  const HostProgram program = compile_for_host(gemm("[M, K]", "[N, K]", "x @ w.T", "bf16", "f16"));
  run_and_check(program, {.sizes = {{"M", 30}, {"N", 40}, {"K", 50}}, .non_finite = true});
}

TEST_CASE("host: rounding within f32 of a product of arbitrary numbers", "[host]") {
  const HostProgram program = compile_for_host(gemm("[M, K]", "[N, K]", "x @ w.T", "f32", "f32"));
  // range/16 is no power of two: sums round, each at most by 2^-24 of what is summed.
  run_and_check(program, {.sizes = {{"M", 50}, {"N", 60}, {"K", 700}}, .range = 1.7, .ulps = 700});
}

TEST_CASE("host: register blocks of every instruction set at hand", "[host]") {
  for (const HostKernels& kernels : usable_host_kernels()) {
    for (int rows = 1; rows <= kernels.rows; ++rows) {
      for (const int64_t depth : {0, 1, 5}) {
        INFO(kernels.rows << " x " << kernels.columns << " block, " << rows << " rows, depth " << depth);
        const int64_t pitch = kernels.columns + 3;
        std::vector<float> a(depth * kernels.rows), b(depth * kernels.columns), c(kernels.rows * pitch, 2.0f);
        for (size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 11) - 5;
        for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i % 7) - 3;
        std::vector<float> expected = c;
        for (const bool accumulate : {true, false}) {
          kernels.block[rows](depth, a.data(), b.data(), c.data(), pitch, accumulate);
          for (int i = 0; i < rows; ++i) {
            for (int j = 0; j < kernels.columns; ++j) {
              float& sum = expected[i * pitch + j];
              if (!accumulate) sum = 0;
              for (int64_t k = 0; k < depth; ++k) sum += a[k * kernels.rows + i] * b[k * kernels.columns + j];
            }
          }
          REQUIRE(c == expected);
        }
      }
    }
  }
}
