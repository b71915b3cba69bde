// Laws take factors past sums, and a factor may be infinite or no number where a dimension is empty: the mean of
// nothing, the reciprocal of its sum. A plan made for an empty dimension is right for it; one made for others is, or
// refuses.
#include <catch2/catch.hpp>

#include "tests/cli/run_block.h"

using namespace coda;
using namespace coda::testing;

namespace {

struct Block {
  const char* signature;
  const char* body;
};
constexpr Block kBlocks[] = {
    {"x: bf16[T, D], g: bf16[D], w: bf16[F, D]) -> (y: bf16[T, F])", "y = rmsnorm(x, g, eps = 1e-5) @ w.T"},
    {"x: bf16[T, D], g: bf16[D], b: bf16[D], w: bf16[F, D]) -> (y: f32[T, F])", "y = bf16(layernorm(x, g, b)) @ w.T"},
    {"x: f32[T, D], w: f32[D, F]) -> (y: f32[T, F], r: f32[T])",
     "let r0 = 1 / sum(x * x, over = D)\n  y = (x * r0) @ w\n  r = r0"},
    {"x: f32[T, D], w: f32[D, F]) -> (y: f32[T, F])", "y = (x @ w) * rsqrt(mean(x * x, over = D))"},
    {"x: f32[T, D], w: f32[D, F]) -> (y: f32[T, F])", "y = softmax(x) @ w"},
    {"x: f32[T, D], w: f32[D, F]) -> (y: f32[T, F])", "y = (x * exp(-max(x, over = D))) @ w"},
    {"x: f32[T, D]) -> (y: f32[T])", "y = sum(x / mean(x, over = D), over = D)"},
    {"x: f32[T, D], g: f32[D]) -> (y: f32[T])", "y = sum(mean(x, over = D) + 0 * g, over = D)"},
    {"x: f32[T, D], v: f32[F, E]) -> (y: f32[T, F])", "y = sum(x * v / mean(x, over = D), over = (D, E))"},
    {"x: f32[T, D]) -> (y: f32[T])", "y = max(x * exp(mean(x, over = D)), over = D)"},
    {"x: f32[T, D]) -> (y: f32[T])", "y = absmax(x * sum(exp(x), over = D), over = D)"},
    {"x: f32[T, D]) -> (y: f32[T], z: f32[T], m: f32[T])",
     "y = mean(x, over = D)\n  z = 1 / sum(exp(x), over = D)\n  m = max(2 * x, over = D)"},
    {"x: f32[T, D], w: f32[D, F], dy: f32[T, F]) -> (l: f32, dw: f32[D, F])",
     "let c = 1 / T\n  l = sum(dy * (x @ w), over = (T, F)) * c\n  dw = (x * c).T @ dy"},
};

std::string text_of(const Block& block) {
  return std::string("block k(") + block.signature + " {\n  " + block.body + "\n}\n";
}

Bindings sizes(const std::string& text, const Bindings& all) {
  Bindings used;
  for (const auto& [name, value] : all) {
    if (text.find("[" + name) != std::string::npos || text.find(", " + name + "]") != std::string::npos) {
      used[name] = value;
    }
  }
  return used;
}

}  // namespace

TEST_CASE("sums over an empty dimension, in plans made for it and in plans made for others") {
  int refused = 0, ran = 0;
  for (const Block& block : kBlocks) {
    const std::string text = text_of(block);
    const Bindings full = sizes(text, {{"T", 5}, {"D", 24}, {"F", 8}, {"E", 3}});
    for (const auto& [name, value] : full) {
      Bindings empty = full;
      empty[name] = 0;
      for (const bool planned : {true, false}) {
        const BlockRun run = run_block(text, empty, {.planned_for = planned ? Bindings() : full, .inputs = {}});
        INFO(text << name << " = 0\n" << run.message);
        CHECK(run.compiled);
        const bool refuses = run.message.find("requires 1 <= " + name) != std::string::npos;
        CHECK((run.right || (refuses && !planned)));
        (refuses ? refused : ran) += 1;
      }
    }
    const BlockRun run = run_block(text, full, 1);
    INFO(text << run.message);
    CHECK(run.right);
  }
  CHECK(refused > 0);
  CHECK(ran > 4 * refused);  // most are right as they are
}
