// Everything the emulator checks, each with a few lines of wrong PTX and what is said of them.
#include <catch2/catch.hpp>

#include "tests/ptx/run_text.h"

namespace coda::ptx::testing {
namespace {

struct Wrong {
  const char* name;
  const char* body;
  unsigned threads;
  const char* says;  ///< a part of it
};

constexpr const char* kBarrierInit =
    "setp.ne.u32 %p1, %r0, 0; @%p1 bra INIT; mbarrier.init.shared.b64 [dynamic+1024], 1; INIT: bar.sync 0;\n";

const Wrong kWrong[] = {
    {"a read beyond an allocation", "ld.global.u32 %r1, [%d0+256];", 32, "256 bytes after the start of one of 256"},
    {"a write before an allocation", "st.global.u32 [%d0+-4], %r0;", 32, "in no allocation"},
    {"a misaligned access", "ld.global.v4.u32 {%r1,%r2,%r3,%r4}, [%d0+8];", 1, "misaligned"},
    {"shared memory that was never written", "ld.shared.u32 %r1, [dynamic+16];", 32, "never written, at 16"},
    {"an access beyond shared memory", "st.shared.u32 [dynamic+65536], %r0;", 32, "outside of shared memory"},
    {"an undefined register in an address", "ld.global.u32 %r1, [%d7];", 32, "register %d7, is undefined"},
    {"an undefined condition", "@%p3 bra END; END:", 32, "the condition, register %p3, is undefined"},
    {"an undefined value, stored, read and used",
     "add.u32 %r2, %r1, 1; st.global.u32 [%d0], %r2; ld.global.u32 %r3, [%d0]; setp.eq.u32 %p1, %r3, 0; @%p1 bra END;"
     "END:",
     32, "the condition, register %p1, is undefined"},
    {"a barrier that not all come to", "setp.lt.u32 %p1, %r0, 32; @%p1 bar.sync 0;", 64, "no thread can go on"},
    {"a barrier within a warp's branch", "setp.lt.u32 %p1, %r0, 16; @%p1 bar.sync 0; @%p1 bra END; END: bar.sync 0;",
     32, "waiting for lanes of its warp"},
    {"warps that differ on a barrier's threads",
     "setp.lt.u32 %p1, %r0, 32; @%p1 bra A; bar.sync 1, 64; bra END; A: bar.sync 1, 96; END:", 96,
     "64 threads here and by 96 elsewhere"},
    {"a shuffle with lanes that have ended",
     "setp.lt.u32 %p1, %r0, 4; @%p1 ret; shfl.sync.bfly.b32 %r1, %r0, 1, 31, -1;", 32, "have exited"},
    {"a lane that is not in its mask", "shfl.sync.bfly.b32 %r1, %r0, 1, 31, 1;", 32, "not in its own mask"},
    {"no mbarrier", "mov.u32 %r1, 0; W: mbarrier.try_wait.parity.shared.b64 %p1, [dynamic], %r1; @!%p1 bra W;", 32,
     "there is no mbarrier at 0"},
    {"a loop without an end", "L: bra L;", 32, "runs longer than 1000000 instructions"},
    {"a write and a read of two warps without a barrier",
     "setp.ge.u32 %p1, %r0, 32; @%p1 bra READ; st.shared.u32 [dynamic], %r0; bra END; READ: ld.shared.u32 %r1, "
     "[dynamic]; END:",
     64, "reads what another warp, or a copy, wrote, with no barrier"},
    {"a read and a write of two warps without a barrier",
     "setp.ge.u32 %p1, %r0, 32; @!%p1 st.shared.u32 [dynamic], %r0; bar.sync 0; @!%p1 ld.shared.u32 %r1, [dynamic]; "
     "@%p1 st.shared.u32 [dynamic], %r0;",
     64, "with no barrier between them"},
    {"writes of two warps without a barrier", "st.shared.u32 [dynamic], %r0;", 64,
     "writes what another warp, or a copy, wrote, with no barrier"},
    {"a barrier that others wait at",
     "setp.lt.u32 %p1, %r0, 64; setp.lt.u32 %p2, %r0, 32; @%p2 st.shared.u32 [dynamic], %r0; @%p1 bar.sync 1, 64; "
     "@!%p1 ld.shared.u32 %r1, [dynamic];",
     96, "reads what another warp, or a copy, wrote, with no barrier"},
    {"an unknown CTA", "mov.u64 %d1, dynamic; mov.u32 %r1, 1; mapa.shared::cluster.u64 %d2, %d1, %r1;", 32,
     "the cluster has no CTA 1"},
    {"a wgmma without a fence",
     "mov.b64 %d1, 0; setp.eq.u32 %p1, 0, 0; wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 "
     "{%r1,%r2,%r3,%r4}, %d1, %d1, %p1, 1, 1, 0, 0;",
     128, "no wgmma.fence"},
    {"a wgmma by a part of a warpgroup",
     "mov.b64 %d1, 0; setp.ne.u32 %p1, 0, 0; wgmma.fence.sync.aligned; setp.lt.u32 %p2, %r0, 32; @%p2 bra END;"
     "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%r1,%r2,%r3,%r4}, %d1, %d1, %p1, 1, 1, 0, 0; END:",
     128, "waiting for warps of its warpgroup"},
};

const Wrong kWrongBarriers[] = {
    {"too many arrivals",
     "mbarrier.arrive.shared.b64 _, [dynamic+1024]; add.u32 %r1, %r0, 1; mbarrier.arrive.shared.b64 _, [dynamic+1024], "
     "%r1;",
     3, "more arrivals"},
    {"an mbarrier that is made twice", "mbarrier.init.shared.b64 [dynamic+1024], 1;", 1,
     "there is an mbarrier already"},
    {"an mbarrier used as memory", "st.shared.u32 [dynamic+1028], %r0;", 1, "writes an mbarrier as memory"},
    {"a wait that nothing ends", "W: mbarrier.try_wait.parity.shared.b64 %p1, [dynamic+1024], 0; @!%p1 bra W;", 32,
     "waits for 1 of 1 arrivals and 0 bytes"},
    {"bytes that never come",
     "setp.eq.u32 %p2, %r0, 0; @%p2 mbarrier.arrive.expect_tx.shared.b64 _, [dynamic+1024], 512;"
     "W: mbarrier.try_wait.parity.shared.b64 %p1, [dynamic+1024], 0; @!%p1 bra W;",
     32, "waits for 0 of 1 arrivals and 512 bytes"},
};

TEST_CASE("wrong programs are found out") {
  for (const Wrong& wrong : kWrong) {
    INFO(wrong.name);
    const Result result = run_text(kernel_text(wrong.body), wrong.threads);
    INFO(result.wrong);
    CHECK(result.wrong.find(wrong.says) != std::string::npos);
  }
}

TEST_CASE("wrong uses of mbarriers are found out") {
  for (const Wrong& wrong : kWrongBarriers) {
    INFO(wrong.name);
    const Result result = run_text(kernel_text(std::string(kBarrierInit) + wrong.body), wrong.threads);
    INFO(result.wrong);
    CHECK(result.wrong.find(wrong.says) != std::string::npos);
  }
}

TEST_CASE("memory that was never written can't be read") {
  const Result result = run_text(kernel_text("ld.global.u32 %r1, [%d0];"), 32, 64, 1, false);
  CHECK(result.wrong.find("reads memory that was never written") != std::string::npos);
}

TEST_CASE("a fault names the line, the kernel, the CTA and the thread") {
  const Result result = run_text(kernel_text("setp.lt.u32 %p1, %r0, 40;\n@%p1 bra END;\ntrap;\nEND:"), 64);
  CHECK(result.wrong == "PTX line 12 (trap), kernel k, CTA 0, thread 40: trap");
}

TEST_CASE("wrong texts are refused, with the line") {
  const auto wrong = [](const std::string& body) { return parse(kernel_text(body)).wrong; };
  CHECK(wrong("madd.u32 %r1, %r2;").find("line 10 (madd.u32): the emulator does not know") != std::string::npos);
  CHECK(wrong("add.u32 %r1, %r2;").find("another number of operands") != std::string::npos);
  CHECK(wrong("add.u32 %r1, %r2, %d1;").find("'%d1' has 64 bits, and 32 are needed") != std::string::npos);
  CHECK(wrong("add.u32 %r1, %r2, %x1;").find("does not know '%x1'") != std::string::npos);
  CHECK(wrong("bra NOWHERE;").find("no label 'NOWHERE'") != std::string::npos);
  CHECK(wrong("{ L: add.u32 %r1, %r1, 1; } bra L;").find("no label 'L'") != std::string::npos);
  CHECK(wrong("add.u32 %r1, %r2, 1").find("expected ';'") != std::string::npos);
  CHECK(wrong("setmaxnreg.inc.sync.aligned.u32 100;").find("number of registers") != std::string::npos);
  CHECK(parse("").wrong == "the text has no kernel");
}

}  // namespace
}  // namespace coda::ptx::testing
