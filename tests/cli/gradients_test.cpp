// Derived blocks as they are compiled and run on the host: of outputs and losses of several types beside bf16 weights.
#include <catch2/catch.hpp>

#include "tests/cli/run_block.h"

using namespace coda;
using namespace coda::testing;

namespace {

void check(const std::string& text, const std::string& routine, const Bindings& dims) {
  const BlockRun run = run_block(text, dims, {.seed = 3, .slack = 2, .routine = routine});
  INFO(routine << " of\n" << text << run.message);
  CHECK(run.compiled);
  CHECK(run.right);
}

const Bindings kDims{{"T", 33}, {"D", 24}, {"F", 40}, {"N", 17}};
const std::string kHead = "block f(x: bf16[T, D], w1: bf16[F, D], w2: bf16[N, F]";

}  // namespace

TEST_CASE("gradients of outputs of any type, of products with weights of 16 bits") {
  for (const char* type : {"f32", "bf16", "f16"}) {
    for (const char* value : {"gelu(x @ w1.T) @ w2.T", "2*(silu(x @ w1.T) @ w2.T)", "relu(x @ w1.T) @ w2.T + 1"}) {
      const std::string text =
          kHead + ") -> (y: " + type + "[T, N]) {\n    y = " + value + "\n}\ngrad f wrt (x, w1, w2)\n";
      check(text, "f_fwd", kDims);
      check(text, "f_grad", kDims);
    }
  }
}

TEST_CASE("gradients of losses, which are scalars and vectors, of products with weights of 16 bits") {
  const std::string z = ") {\n    let z = gelu(x @ w1.T) @ w2.T\n    loss = ", end = "\n}\ngrad f wrt (x, w1, w2)\n";
  for (const std::string& text :
       {kHead + ", t: f32[T, N]) -> (loss: f32" + z + "mean((z - t)*(z - t), over = (T, N))" + end,
        kHead + ", t: i64[T]) -> (loss: f32[T]" + z + "cross_entropy(z, t)" + end,
        kHead + ") -> (loss: f32[T]" + z + "logsumexp(z, over = N)" + end}) {
    check(text, "f_fwd", kDims);
    check(text, "f_grad", kDims);
  }
}

TEST_CASE("probabilities of logits of 1e4") {
  const std::string text = kHead +
                           ", t: i64[T]) -> (h: bf16[T, F], loss: f32[T]) {\n    let g = relu(x @ w1.T)\n    h = g\n" +
                           "    loss = cross_entropy(g @ w2.T, t)\n}\ngrad f wrt (x, w1, w2)\n";
  const BlockRun run = run_block(
      text, kDims, {.seed = 3, .slack = 2, .routine = "f_grad", .inputs = {"w2=normal(0, 3000)", "t=integers(0, 17)"}});
  INFO(run.message);
  CHECK(run.compiled);
  CHECK(run.right);
}
