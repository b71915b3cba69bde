// Bulk tensor copies: boxes at edges, every swizzle, several CTAs; and what is checked of them.
#include <catch2/catch.hpp>

#include "tests/ptx/run_text.h"
#include "tests/runtime/fake_cuda/encoded_map.h"

namespace coda::ptx::testing {
namespace {

constexpr int kRows = 5, kColumns = 36, kBoxRows = 8;  // of u32

struct Case {
  int swizzle, box_columns, x, y;
};

/// A kernel of two parameters: a map, and where the box goes as it lies in shared memory.
std::string copy_text(const Case& c, const std::string& before_use, const std::string& attributes = "",
                      const std::string& copy = "") {
  const int bytes = c.box_columns * 4 * kBoxRows;
  const std::string plain =
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%d1], [%d2, {%r1, %r2}], "
      "[%d3];\n";
  return ".version 8.0\n.target sm_90a\n.address_size 64\n.extern .shared .align 1024 .b8 dynamic[];\n"
         ".visible .entry k(.param .align 64 .b8 map[128], .param .u64 out)\n" +
         attributes +
         "{\n.reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<20>; .reg .b64 %d<20>;\n"
         "mov.u32 %r0, %tid.x; ld.param.u64 %d0, [out]; mov.u64 %d1, dynamic; mov.u64 %d3, dynamic; "
         "add.s64 %d3, %d3, 8192; mov.u64 %d2, map; cvta.param.u64 %d2, %d2; mov.u32 %r1, " +
         std::to_string(c.x) + "; mov.u32 %r2, " + std::to_string(c.y) +
         ";\nsetp.ne.u32 %p1, %r0, 0; @%p1 bra READY; mbarrier.init.shared.b64 [%d3], 1; "
         "mbarrier.arrive.expect_tx.shared.b64 _, [%d3], " +
         std::to_string(bytes) +
         ";\nREADY: bar.sync 0; barrier.cluster.arrive; barrier.cluster.wait;\n@%p1 bra WAIT;\n" +
         (copy.empty() ? plain : copy) + "WAIT:\n" + before_use +
         "USE: add.u32 %r3, %r0, 0; mov.u32 %r6, %ctaid.x; mul.lo.u32 %r6, %r6, " + std::to_string(bytes) +
         "; cvt.u64.u32 %d7, %r6; add.s64 %d0, %d0, %d7;\n"
         "STORE: shl.b32 %r4, %r3, 2; cvt.u64.u32 %d4, %r4; add.s64 %d5, %d1, %d4; ld.shared.u32 %r5, [%d5];\n"
         "add.s64 %d6, %d0, %d4; st.global.u32 [%d6], %r5; add.u32 %r3, %r3, 32; setp.lt.u32 %p3, %r3, " +
         std::to_string(bytes / 4) + "; @%p3 bra STORE;\nret;\n}\n";
}

const std::string kWait = "W: mbarrier.try_wait.parity.shared.b64 %p2, [%d3], 0; @!%p2 bra W;\n";

Result run_copy(const Case& c, const std::string& text, unsigned ctas = 1) {
  const Parsed parsed = parse(text);
  if (!parsed.module) return {parsed.wrong, {}};
  std::vector<uint32_t> from(kRows * kColumns);
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<uint32_t>(i + 1);
  Result result{"", std::vector<uint32_t>(static_cast<size_t>(c.box_columns * kBoxRows) * ctas)};
  fake_cuda::EncodedMap map{fake_cuda::kMapMagic, reinterpret_cast<uint64_t>(from.data())};
  map.extents[0] = kColumns - 3;
  map.extents[1] = kRows;
  map.strides[0] = kColumns * 4;
  map.box[0] = static_cast<uint16_t>(c.box_columns);
  map.box[1] = kBoxRows;
  map.rank = 2;
  map.type = 3;
  map.swizzle = static_cast<uint8_t>(c.swizzle);
  const auto to = reinterpret_cast<uint64_t>(result.memory.data());
  GlobalMemory global;
  global.add(map.address, from.size() * 4);
  global.written(map.address, from.size() * 4);
  global.add(to, result.memory.size() * 4);
  Launch launch;
  launch.threads = 32;
  launch.grid = ctas;
  launch.dynamic_shared = 16384;
  launch.parameters.resize(136);
  std::memcpy(launch.parameters.data(), &map, sizeof(map));
  std::memcpy(launch.parameters.data() + 128, &to, sizeof(to));
  result.wrong = run(parsed.module->kernels.at("k"), launch, global).wrong;
  return result;
}

/// Where word x of row y lies: chunks of four words, exchanged by the number of their line of 128 bytes.
size_t place(const Case& c, int x, int y) {
  const int word = y * c.box_columns + x, line = word / 32, chunk = word / 4;
  const int pattern = line & ((1 << c.swizzle) - 1);
  return static_cast<size_t>((chunk ^ pattern) * 4 + word % 4);
}

int wrong_words(const Case& c, const uint32_t* found) {
  int wrong = 0;
  for (int y = 0; y < kBoxRows; ++y) {
    for (int x = 0; x < c.box_columns; ++x) {
      const int column = c.x + x, row = c.y + y;
      const bool inside = column >= 0 && column < kColumns - 3 && row >= 0 && row < kRows;
      wrong += found[place(c, x, y)] != (inside ? static_cast<uint32_t>(row * kColumns + column + 1) : 0);
    }
  }
  return wrong;
}

TEST_CASE("boxes are copied, zero outside of the tensor, swizzled") {
  for (const Case& c : {Case{0, 8, 0, 0}, Case{0, 12, 28, 2}, Case{1, 8, -3, -2}, Case{2, 16, 20, 1}, Case{3, 32, 4, 3},
                        Case{3, 32, -40, 0}, Case{0, 4, 0, 100}}) {
    const Result result = run_copy(c, copy_text(c, kWait));
    INFO(c.swizzle << " " << c.x << " " << c.y << ": " << result.wrong);
    REQUIRE(result.wrong.empty());
    CHECK(wrong_words(c, result.memory.data()) == 0);
  }
}

TEST_CASE("a copy goes to several CTAs, and their mbarriers count it") {
  const Case c{3, 32, 4, 1};
  const std::string copy =
      "mov.u32 %r7, %ctaid.x; setp.ne.u32 %p4, %r7, 0; @%p4 bra WAIT; mov.b16 %h1, 3;\n"
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%d1], "
      "[%d2, {%r1, %r2}], [%d3], %h1;\n";
  const Result result = run_copy(c, copy_text(c, kWait, ".reqnctapercluster 2, 1, 1\n", copy), 2);
  INFO(result.wrong);
  REQUIRE(result.wrong.empty());
  CHECK(wrong_words(c, result.memory.data()) == 0);
  CHECK(wrong_words(c, result.memory.data() + c.box_columns * kBoxRows) == 0);
}

TEST_CASE("wrong copies are found out") {
  const Case c{3, 32, 0, 0};
  const auto says = [&](const std::string& text, const char* what) {
    const Result result = run_copy(c, text);
    INFO(result.wrong);
    CHECK(result.wrong.find(what) != std::string::npos);
  };
  says(copy_text(c, ""), "its mbarrier was not waited for");
  says(copy_text(c, "st.shared.u32 [%d1], %r0;\n"), "writes shared memory that a bulk copy in flight writes");
  says(copy_text(c, "ret;\n"), "bulk copies in flight");
  const std::string odd =
      "add.s64 %d1, %d1, 16; cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%d1], "
      "[%d2, {%r1, %r2}], [%d3];\n";
  says(copy_text(c, kWait, "", odd), "misaligned");
  const std::string rank =
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%d1], [%d2, {%r1, %r2, %r2}], "
      "[%d3];\n";
  says(copy_text(c, kWait, "", rank), "the map is of rank 2");
  std::string few = copy_text(c, kWait);
  few.replace(few.find("_, [%d3], 1024"), 14, "_, [%d3], 512");
  says(few, "more bytes come to an mbarrier");
}

}  // namespace
}  // namespace coda::ptx::testing
