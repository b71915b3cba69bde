// Single instructions: what they make of a few numbers, edges among them, said by hand.
#include <catch2/catch.hpp>

#include "tests/ptx/run_text.h"

namespace coda::ptx::testing {
namespace {

/// %r1, %r2, %r3 are given; the text leaves its result in %r9 (a float of the same bits is meant where it says f32).
struct Word {
  const char* text;
  uint32_t a, b, c, result;
};
constexpr uint32_t kOne = 0x3f800000, kTwo = 0x40000000, kNan = 0x7fc00000, kInf = 0x7f800000, kMinusZero = 0x80000000;

const Word kWords[] = {
    {"add.s32 %r9, %r1, %r2;", 0xffffffff, 3, 0, 2},
    {"sub.s32 %r9, %r1, %r2;", 2, 3, 0, 0xffffffff},
    {"mad.lo.s32 %r9, %r1, %r2, %r3;", 0x10001, 0x10001, 5, 0x00020006},
    {"mul.hi.u32 %r9, %r1, %r2;", 0xffffffff, 0xffffffff, 0, 0xfffffffe},
    {"mul.hi.s32 %r9, %r1, %r2;", 0xffffffff, 5, 0, 0xffffffff},
    {"div.s32 %r9, %r1, %r2;", 0xfffffff9, 2, 0, 0xfffffffd},
    {"rem.s32 %r9, %r1, %r2;", 0xfffffff9, 2, 0, 0xffffffff},
    {"div.u32 %r9, %r1, %r2;", 7, 0, 0, 0xffffffff},
    {"min.s32 %r9, %r1, %r2;", 0xffffffff, 1, 0, 0xffffffff},
    {"min.u32 %r9, %r1, %r2;", 0xffffffff, 1, 0, 1},
    {"shl.b32 %r9, %r1, %r2;", 1, 32, 0, 0},
    {"shr.u32 %r9, %r1, %r2;", 0x80000000, 31, 0, 1},
    {"shr.s32 %r9, %r1, %r2;", 0x80000000, 40, 0, 0xffffffff},
    {"shf.l.wrap.b32 %r9, %r1, %r2, %r3;", 0x80000001, 0x12345678, 4, 0x23456788},
    {"shf.r.wrap.b32 %r9, %r1, %r2, %r3;", 0x80000001, 0x12345678, 4, 0x88000000},
    {"bfe.u32 %r9, %r1, %r2, %r3;", 0x12345678, 8, 12, 0x456},
    {"bfe.s32 %r9, %r1, %r2, %r3;", 0x12345678, 4, 4, 7},
    {"bfe.s32 %r9, %r1, %r2, %r3;", 0xf0, 4, 4, 0xffffffff},
    {"bfe.u32 %r9, %r1, %r2, %r3;", 0xf0000000, 28, 32, 15},
    {"bfi.b32 %r9, %r1, %r2, 8, 8;", 0xab, 0x11223344, 0, 0x1122ab44},
    {"prmt.b32 %r9, %r1, %r2, %r3;", 0x33221100, 0x77665544, 0x7351, 0x77335511},
    {"prmt.b32 %r9, %r1, %r2, %r3;", 0x00008000, 0, 0x0009, 0x000000ff},
    {"clz.b32 %r9, %r1;", 0x00010000, 0, 0, 15},
    {"popc.b32 %r9, %r1;", 0xf0f0, 0, 0, 8},
    {"brev.b32 %r9, %r1;", 1, 0, 0, 0x80000000},
    {"add.f32 %r9, %r1, %r2;", kOne, kOne, 0, kTwo},
    {"add.rn.f32 %r9, %r1, %r2;", 0x4b800000, kOne, 0, 0x4b800000},                      // 2^24 + 1 is a tie: to even
    {"fma.rn.f32 %r9, %r1, %r2, %r3;", 0x3f800001, 0x3f800001, 0xbf800002, 0x28800000},  // 2^-46: rounded once
    {"fma.rn.f32 %r9, %r1, %r2, %r3;", 0x3f800800, 0x3f800800, 0x33000000, 0x3f801001},
    {"max.f32 %r9, %r1, %r2;", kNan, kOne, 0, kOne},
    {"max.NaN.f32 %r9, %r1, %r2;", kOne, kNan, 0, kNan},
    {"min.f32 %r9, %r1, %r2;", 0, kMinusZero, 0, kMinusZero},
    {"max.f32 %r9, %r1, %r2;", kMinusZero, 0, 0, 0},
    {"neg.f32 %r9, %r1;", 0, 0, 0, kMinusZero},
    {"abs.f32 %r9, %r1;", 0xffc00000, 0, 0, kNan},
    {"copysign.f32 %r9, %r1, %r2;", kMinusZero, kOne, 0, 0xbf800000},
    {"ex2.approx.f32 %r9, %r1;", 0xc3090000, 0, 0, 0x00001000},  // 2^-137 is subnormal
    {"ex2.approx.ftz.f32 %r9, %r1;", 0xc3090000, 0, 0, 0},
    {"lg2.approx.f32 %r9, %r1;", 0x41000000, 0, 0, 0x40400000},
    {"rcp.approx.ftz.f32 %r9, %r1;", kMinusZero, 0, 0, 0xff800000},
    {"rsqrt.approx.f32 %r9, %r1;", 0x40800000, 0, 0, 0x3f000000},
    {"sqrt.rn.f32 %r9, %r1;", 0x40800000, 0, 0, kTwo},
    {"cvt.rmi.f32.f32 %r9, %r1;", 0xbf000000, 0, 0, 0xbf800000},
    {"cvt.rni.f32.f32 %r9, %r1;", 0x40200000, 0, 0, kTwo},  // 2.5
    {"cvt.rzi.s32.f32 %r9, %r1;", 0xc0200000, 0, 0, 0xfffffffe},
    {"cvt.rzi.s32.f32 %r9, %r1;", kInf, 0, 0, 0x7fffffff},
    {"cvt.rzi.u32.f32 %r9, %r1;", 0xbf800000, 0, 0, 0},
    {"cvt.rzi.s32.f32 %r9, %r1;", kNan, 0, 0, 0},
    {"cvt.rn.f32.u32 %r9, %r1;", 0x01000001, 0, 0, 0x4b800000},
    {"cvt.rn.f32.s32 %r9, %r1;", 0xffffffff, 0, 0, 0xbf800000},
    {"cvt.rn.bf16x2.f32 %r9, %r1, %r2;", kOne, 0x3f808000, 0, 0x3f803f80},  // a tie, to even
    {"cvt.rn.bf16x2.f32 %r9, %r1, %r2;", kNan, 0x7f7fffff, 0, 0x7fff7f80},
    {"cvt.rn.f16x2.f32 %r9, %r1, %r2;", kTwo, 0x477ff000, 0, 0x40007c00},        // 65520 rounds to infinity
    {"cvt.rn.f16x2.f32 %r9, %r1, %r2;", 0x33000000, 0x33000001, 0, 0x00000001},  // half of the least, and more
    {"cvt.rn.satfinite.e4m3x2.f32 %h1, %r1, %r2; cvt.u32.u16 %r9, %h1;", kInf, 0x43e80001, 0, 0x7e7e},
    {"cvt.rn.satfinite.e4m3x2.f32 %h1, %r1, %r2; cvt.u32.u16 %r9, %h1;", kNan, 0xbb000000, 0, 0x7f81},
    {"cvt.rn.satfinite.e5m2x2.f32 %h1, %r1, %r2; cvt.u32.u16 %r9, %h1;", kOne, 0x3fa00000, 0, 0x3c3d},
    {"cvt.u16.u32 %h1, %r1; cvt.f32.f16 %r9, %h1;", 0x0001, 0, 0, 0x33800000},
    {"cvt.rn.f16.f32 %h1, %r1; cvt.u32.u16 %r9, %h1;", kOne, 0, 0, 0x3c00},
    {"cvt.u16.u32 %h1, %r1; cvt.s32.s16 %r9, %h1;", 0x8000, 0, 0, 0xffff8000},
    {"cvt.u16.u32 %h1, %r1; cvt.s32.s8 %r9, %h1;", 0x0180, 0, 0, 0xffffff80},
    {"cvt.u16.u32 %h1, %r1; mul.wide.u16 %r9, %h1, %h1;", 0xffff, 0, 0, 0xfffe0001},
    {"mov.b32 {%h1, %h2}, %r1; mov.b32 %r9, {%h2, %h1};", 0x12345678, 0, 0, 0x56781234},
    {"mov.b32 {_, %h2}, %r1; cvt.u32.u16 %r9, %h2;", 0x12345678, 0, 0, 0x1234},
    {"mul.wide.u32 %d1, %r1, %r2; mov.b64 {%r8, %r9}, %d1;", 0xffffffff, 0x10000, 0, 0xffff},
    {"cvt.s64.s32 %d1, %r1; shr.s64 %d1, %d1, 33; cvt.u32.u64 %r9, %d1;", 0x80000000, 0, 0, 0xffffffff},
    {"cvt.u64.u32 %d1, %r1; mul.hi.u64 %d1, %d1, -1; cvt.u32.u64 %r9, %d1;", 7, 0, 0, 6},
    {"setp.lt.s32 %p1, %r1, %r2; selp.b32 %r9, %r1, %r3, %p1;", 0xffffffff, 0, 5, 0xffffffff},
    {"setp.lt.u32 %p1, %r1, %r2; selp.b32 %r9, %r1, %r3, %p1;", 0xffffffff, 0, 5, 5},
    {"setp.lt.f32 %p1, %r1, %r2; selp.b32 %r9, 1, 0, %p1;", kNan, kOne, 0, 0},
    {"setp.ltu.f32 %p1, %r1, %r2; selp.b32 %r9, 1, 0, %p1;", kNan, kOne, 0, 1},
    {"setp.ne.f32 %p1, %r1, %r2; selp.b32 %r9, 1, 0, %p1;", kNan, kOne, 0, 0},
    {"setp.neu.f32 %p1, %r1, %r2; selp.b32 %r9, 1, 0, %p1;", kNan, kOne, 0, 1},
    {"setp.nan.f32 %p1, %r1, %r2; selp.b32 %r9, 1, 0, %p1;", kOne, kNan, 0, 1},
    {"setp.num.f32 %p1, %r1, %r2; selp.b32 %r9, 1, 0, %p1;", kOne, kOne, 0, 1},
    {"setp.eq.f32 %p1, %r1, %r2; selp.b32 %r9, 1, 0, %p1;", kMinusZero, 0, 0, 1},
    {"setp.gt.u32 %p1, %r1, 0; setp.eq.u32 %p2, %r2, 0; and.pred %p3, %p1, %p2; xor.pred %p3, %p3, %p1; not.pred %p3, "
     "%p3; selp.b32 %r9, 1, 0, %p3;",
     1, 0, 0, 1},
    {"mov.pred %p1, 1; @!%p1 bra N; mov.b32 %r9, 4; bra E; N: mov.b32 %r9, 5; E:", 0, 0, 0, 4},
    {"setp.eq.u32 %p1, %r1, 0; or.pred %p2, %p1, %p9; selp.b32 %r9, 1, 0, %p2;", 0, 0, 0, 1},  // %p9 is undefined
    {"st.shared.u16 [dynamic+2], %r1; st.shared.u16 [dynamic], %r2; ld.shared.s16 %r9, [dynamic+2];", 0x8001, 0, 0,
     0xffff8001},
    {"mov.u64 %d1, dynamic; cvta.shared.u64 %d2, %d1; st.shared.u32 [%d1+4], %r1; ld.u32 %r9, [%d2+4];", 77, 0, 0, 77},
    {".local .align 8 .b8 depot[16]; mov.u64 %d1, depot; cvta.local.u64 %d2, %d1; st.u32 [%d2+8], %r1; ld.local.u32 "
     "%r9, [%d1+8];",
     78, 0, 0, 78},
    {"atom.global.add.u32 %r8, [%d0+4], %r1; ld.global.u32 %r9, [%d0+4];", 9, 0, 0, 10},
    {"atom.global.inc.u32 %r9, [%d0+20], 4; atom.global.inc.u32 %r8, [%d0+20], 4; ld.global.u32 %r7, [%d0+20]; "
     "mad.lo.s32 %r9, %r7, 100, %r8;",
     0, 0, 0, 100},
    {"red.global.add.f32 [%d0+4], %r1; ld.global.u32 %r9, [%d0+4];", kOne, 0, 0, kOne},
    {"atom.global.cas.b32 %r8, [%d0+12], 3, %r1; ld.global.u32 %r9, [%d0+12];", 55, 0, 0, 55},
    {"{ .reg .b32 t; mov.b32 t, %r1; { .reg .b32 t; mov.b32 t, 5; } mov.b32 %r9, t; }", 6, 0, 0, 6},
};

TEST_CASE("instructions compute what PTX says") {
  for (const Word& word : kWords) {
    const std::string text = "mov.b32 %r1, " + std::to_string(word.a) + "; mov.b32 %r2, " + std::to_string(word.b) +
                             "; mov.b32 %r3, " + std::to_string(word.c) + "; " + word.text +
                             " st.global.u32 [%d0], %r9;";
    const Result result = run_text(kernel_text(text), 1);
    INFO(word.text << " of " << word.a << ", " << word.b << ", " << word.c << ": " << result.wrong);
    REQUIRE(result.wrong.empty());
    CHECK(result.memory[0] == word.result);
  }
}

TEST_CASE("lanes exchange, part and meet again") {
  const auto of = [](const std::string& body) {
    const Result result = run_text(
        kernel_text(body +
                    " shl.b32 %r8, %r0, 2; cvt.u64.u32 %d1, %r8; add.s64 %d1, %d1, %d0; st.global.u32 [%d1], %r9;"),
        64);
    INFO(result.wrong);
    REQUIRE(result.wrong.empty());
    return result.memory;
  };
  const auto butterfly = of("shfl.sync.bfly.b32 %r9, %r0, 5, 31, -1;");
  const auto first = of("shfl.sync.idx.b32 %r9, %r0, 3, 31, -1;");
  const auto quads = of("shfl.sync.idx.b32 %r9, %r0, 1, 7199, -1;");  // segments of 4 lanes
  const auto down = of("shfl.sync.down.b32 %r9, %r0, 2, 31, -1;");
  const auto up = of("shfl.sync.up.b32 %r9, %r0, 2, 0, -1;");
  // Odd lanes loop as often as their number; all meet at the shuffle.
  const auto loops =
      of("mov.b32 %r7, 0; and.b32 %r6, %r0, 1; setp.eq.u32 %p1, %r6, 0; @%p1 bra MEET; L: add.u32 %r7, %r7, 1; "
         "setp.lt.u32 %p2, %r7, %r0; @%p2 bra L; MEET: shfl.sync.bfly.b32 %r9, %r7, 1, 31, -1;");
  for (uint32_t i = 0; i < 64; ++i) {
    const uint32_t lane = i % 32;
    CHECK(butterfly[i] == (i ^ 5));
    CHECK(first[i] == i - lane + 3);
    CHECK(quads[i] == i / 4 * 4 + 1);
    CHECK(down[i] == (lane + 2 < 32 ? i + 2 : i));
    CHECK(up[i] == (lane >= 2 ? i - 2 : i));
    CHECK(loops[i] == (i % 2 == 0 ? i + 1 : 0));
  }
}

TEST_CASE("warps meet at barriers, also if one only arrives") {
  // Warp 1 writes and arrives, warp 0 waits and reads.
  const Result result = run_text(
      kernel_text("setp.ge.u32 %p1, %r0, 32; @%p1 bra WRITE; bar.sync 1, 64; ld.shared.u32 %r1, [dynamic+128]; "
                  "st.global.u32 [%d0], %r1; bra END; WRITE: shl.b32 %r2, %r0, 2; mov.b32 %r3, dynamic; "
                  "add.u32 %r3, %r3, %r2; st.shared.u32 [%r3], %r0; bar.arrive 1, 64; END:"),
      64);
  INFO(result.wrong);
  CHECK(result.wrong.empty());
  CHECK(result.memory[0] == 32);
}

TEST_CASE("CTAs of a cluster reach each other's shared memory and mbarriers") {
  const Result result = run_text(
      kernel_text(
          "mov.u64 %d1, dynamic; add.s64 %d2, %d1, 1024; setp.ne.u32 %p1, %r0, 0; @%p1 bra READY; "
          "mbarrier.init.shared.b64 [%d2], 1; READY: barrier.cluster.arrive; barrier.cluster.wait; @%p1 bra END;"
          "mov.u32 %r1, %cluster_ctarank; xor.b32 %r2, %r1, 1; mapa.shared::cluster.u64 %d3, %d1, %r2; "
          "add.u32 %r3, %r1, 50; st.shared::cluster.u32 [%d3], %r3; mapa.shared::cluster.u64 %d4, %d2, %r2; "
          "mbarrier.arrive.shared::cluster.b64 _, [%d4]; "
          "W: mbarrier.try_wait.parity.shared.b64 %p2, [%d2], 0; @!%p2 bra W; "
          "ld.shared.u32 %r4, [%d1]; mov.u32 %r5, %ctaid.x; shl.b32 %r5, %r5, 2; cvt.u64.u32 %d5, %r5; "
          "add.s64 %d5, %d5, %d0; st.global.u32 [%d5], %r4; END: barrier.cluster.arrive; barrier.cluster.wait;",
          ".reqnctapercluster 2, 1, 1"),
      32, 64, 4);
  INFO(result.wrong);
  CHECK(result.wrong.empty());
  CHECK(std::vector<uint32_t>(result.memory.begin(), result.memory.begin() + 4) ==
        std::vector<uint32_t>{51, 50, 51, 50});
}

}  // namespace
}  // namespace coda::ptx::testing
