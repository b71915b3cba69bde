// Kernels whose pipeline ptxas breaks as they are emitted first: what a region's way begins with, it moves in front of
// the wait. They are emitted once more, and come out whole. And tiles whose code spills, which are passed over.
#include <catch2/catch.hpp>

#include "compiler/codegen/sm90.h"
#include "dsl/diagnostics.h"
#include "runtime/assemble.h"
#include "runtime/jit/jit.h"

namespace coda::test {

TEST_CASE("a pipeline that the assembler breaks is made anew") {
  if (!find_assembler()) {
    WARN("skipped: no ptxas");
    return;
  }
  const std::string text = R"(
kernel qkv(x: bf16[M, D], w: bf16[(Hq + 2*Hkv)*Dh, D], cos: f32[M, Dh/2], sin: f32[M, Dh/2])
    -> (q: bf16[M, Hq, Dh], k: bf16[M, Hkv, Dh], v: bf16[M, Hkv, Dh]) {
  let (a, b, c) = split(x @ w.T, Hq*Dh, Hkv*Dh, Hkv*Dh)
  q = rope(group(a, Dh), cos, sin)
  k = rope(group(b, Dh), cos, sin)
  v = group(c, Dh)
}
)";
  for (const int64_t head : {4, 8, 16}) {
    Compilation result = compile(
        {.path = "qkv.coda", .text = text, .bindings = {{"Dh", head}}, .target = "sm_90a", .stage = Stage::Assemble});
    INFO(head << "\n" << result.diagnostics->render_text());
    REQUIRE(result.ok());
    REQUIRE(result.image);
    CHECK(result.image->code_kind == CodeKind::Cubin);
  }
}

TEST_CASE("a tile whose code spills is passed over") {
  if (!find_assembler()) {
    WARN("skipped: no ptxas");
    return;
  }
  // In tiles of three heads, four of which are a group: 7 KB of spills, which the tests of every schedule allow.
  CompileRequest request{.path = "grouped_rope.coda",
                         .text = R"(
kernel grouped_rope(x: bf16[T, D], w: bf16[H*G*Dh, D], cos: f32[T, Dh/2], sin: f32[T, Dh/2])
    -> (q: bf16[T, H, G, Dh]) where Dh = 64, G = 4, H = 2 {
  q = group(rope(group(x @ w.T, Dh), cos, sin), G, dim = H*G)
}
)",
                         .target = "sm_90a",
                         .stage = Stage::Assemble};
  const Compilation chosen = compile(request);
  INFO(chosen.diagnostics->render_text());
  REQUIRE(chosen.ok());
  REQUIRE(chosen.image);
  CHECK(chosen.image->spill_bytes <= kSm90FewSpilledBytes);
}

}  // namespace coda::test
