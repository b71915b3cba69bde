// Blocks: one GEMM is a kernel, several are planned but not run.
#include <catch2/catch.hpp>

#include "runtime/jit/jit.h"
#include "tests/golden.h"

using namespace coda;

TEST_CASE("a block of several kernels says what can be done with it", "[golden]") {
  golden::check_folder("tests/jit/golden", [](const std::string& name, const std::string& text) {
    Compilation result = compile({.path = name, .text = text, .target = "host", .stage = Stage::Lower});
    CHECK_FALSE(result.ok());
    CHECK(result.program);
    return result.diagnostics->render_text();
  });
}

TEST_CASE("a block of one GEMM is a kernel") {
  const std::string text = "block f(x: bf16[M, K], w: bf16[N, K]) -> (y: bf16[M, N]) {\n    y = relu(x @ w.T)\n}\n";
  CHECK(compile({.path = "f.coda", .text = text, .target = "host", .stage = Stage::Assemble}).image);
}
