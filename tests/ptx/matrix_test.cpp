// wgmma against products taken by hand, in every layout a descriptor can say, and what is checked of it.
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/ptx/emulator/number_formats.h"
#include "tests/ptx/run_text.h"

namespace coda::ptx::testing {
namespace {

constexpr int kColumns = 64, kDepth = 16, kUnit = 16;

/// A layout of an operand of bf16 of 64 rows and 16 of depth.
struct Layout {
  const char* name;
  int span;  ///< of the swizzle; 16: none
  bool other_major;
  int leading, stride;
};
constexpr Layout kLayouts[] = {{"128", 128, false, 0, 1024},      {"64", 64, false, 0, 512},
                               {"32", 32, false, 0, 256},         {"none", 16, false, 128, 256},
                               {"128 other", 128, true, 0, 1024}, {"64 other", 64, true, 1024, 512},
                               {"32 other", 32, true, 512, 256},  {"none other", 16, true, 1024, 128}};

/// Byte of element (row, k) from the operand's start, which is a multiple of 1024: said independently of the emulator,
/// by atoms of 8 rows of `span` bytes in which chunks of 16 bytes are exchanged.
int place(const Layout& l, int row, int k) {
  const int outer = l.other_major ? k : row, inner = l.other_major ? row : k;  // inner is contiguous
  const int per_span = l.span / 2;
  const int between = l.span == 16 ? (l.other_major ? l.stride : l.leading) : l.leading;
  const int deeper = l.span == 16 ? (l.other_major ? l.leading : l.stride) : l.stride;
  const int line = outer % 8, chunk = inner % per_span / 8;
  const int pattern = line * l.span / 128 % (l.span / 16);  // lines of 128 bytes count
  const int atom = outer / 8 * deeper + inner / per_span * between;
  return atom + line * l.span + (chunk ^ pattern) * 16 + inner % 8 * 2;
}

uint64_t descriptor_fields(const Layout& l) {
  const uint64_t mode = l.span == 128 ? 1 : l.span == 64 ? 2 : l.span == 32 ? 3 : 0;
  return mode << 62 | static_cast<uint64_t>(l.stride / kUnit) << 32 | static_cast<uint64_t>(l.leading / kUnit) << 16;
}

float a_value(int row, int k) { return static_cast<float>((row * 7 + k * 3) % 11 - 5); }
float b_value(int column, int k) { return static_cast<float>((column * 5 + k * 13) % 9 - 4); }

/// Memory: A's 8 KiB as they lie in shared memory, then B's.
std::vector<uint32_t> memory_of(const Layout& a, const Layout& b) {
  std::vector<uint32_t> words(4096 + 64 * kColumns);
  const auto put = [&](int byte, float value) {
    const uint32_t half = encode_float(value, kBF16);
    words[static_cast<size_t>(byte / 4)] |= half << (byte % 4 * 8);
  };
  for (int i = 0; i < 64; ++i) {
    for (int k = 0; k < kDepth; ++k) {
      put(place(a, i, k), a_value(i, k));
      put(8192 + place(b, i, k), b_value(i, k));
    }
  }
  return words;
}

std::string sums(int count) {
  std::string list = "{";
  for (int i = 0; i < count; ++i) list += (i ? ",%r" : "%r") + std::to_string(100 + i);
  return list + "}";
}

/// `between` stands after the commit.
std::string multiply_text(const Layout& a, const Layout& b, const std::string& between, bool fences = true) {
  std::string text =
      "mov.u32 %r1, %r0; mov.b32 %r5, dynamic;\n"
      "COPY: shl.b32 %r2, %r1, 2; cvt.u64.u32 %d1, %r2; add.s64 %d1, %d1, %d0; ld.global.u32 %r3, [%d1];\n"
      "add.u32 %r4, %r2, %r5; st.shared.u32 [%r4], %r3; add.u32 %r1, %r1, 128; setp.lt.u32 %p1, %r1, 4096;\n"
      "@%p1 bra COPY;\n";
  if (fences) text += "fence.proxy.async.shared::cta;\n";
  text += "bar.sync 0; shr.u32 %r5, %r5, 4; and.b32 %r5, %r5, 16383; cvt.u64.u32 %d2, %r5; mov.b64 %d4, " +
          std::to_string(descriptor_fields(a)) + "; or.b64 %d3, %d2, %d4; mov.b64 %d4, " +
          std::to_string(descriptor_fields(b)) + "; or.b64 %d4, %d2, %d4; add.s64 %d4, %d4, 512;\n" +
          "setp.ne.u32 %p1, 0, 0; wgmma.fence.sync.aligned;\n" +
          "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 " + sums(kColumns / 2) + ", %d3, %d4, %p1, 1, 1, " +
          (a.other_major ? "1, " : "0, ") + (b.other_major ? "1;\n" : "0;\n") + "wgmma.commit_group.sync.aligned;\n" +
          between + "wgmma.wait_group.sync.aligned 0;\n";
  // Row 16 * warp + lane / 4, column 2 * (lane % 4), 4 KiB words behind the operands.
  text +=
      "shr.u32 %r1, %r0, 5; shl.b32 %r1, %r1, 4; bfe.u32 %r2, %r0, 2, 3; add.u32 %r1, %r1, %r2; shl.b32 %r1, %r1, 8;\n"
      "and.b32 %r2, %r0, 3; shl.b32 %r2, %r2, 3; add.u32 %r1, %r1, %r2; cvt.u64.u32 %d1, %r1; add.s64 %d1, %d1, %d0;\n";
  for (int i = 0; i < kColumns / 2; ++i) {
    const int offset = 16384 + i / 4 * 32 + i / 2 % 2 * 2048 + i % 2 * 4;
    text += "st.global.f32 [%d1+" + std::to_string(offset) + "], %r" + std::to_string(100 + i) + ";\n";
  }
  return kernel_text(text);
}

Result run_on(const std::string& text, std::vector<uint32_t> words) {
  const Parsed parsed = parse(text);
  if (!parsed.module) return {parsed.wrong, {}};
  const auto address = reinterpret_cast<uint64_t>(words.data());
  GlobalMemory global;
  global.add(address, words.size() * 4);
  global.written(address, words.size() * 4);
  Launch launch;
  launch.threads = 128;
  launch.dynamic_shared = 64 * 1024;
  launch.parameters.resize(8);
  std::memcpy(launch.parameters.data(), &address, 8);
  const Ran ran = run(parsed.module->kernels.at("k"), launch, global);
  return {ran.wrong, words};
}

TEST_CASE("operands are read in every layout") {
  for (const Layout& a : kLayouts) {
    for (const Layout& b : kLayouts) {
      const Result result = run_on(multiply_text(a, b, ""), memory_of(a, b));
      INFO(a.name << " by " << b.name << ": " << result.wrong);
      REQUIRE(result.wrong.empty());
      int wrong = 0;
      for (int row = 0; row < 64; ++row) {
        for (int column = 0; column < kColumns; ++column) {
          float sum = 0, found = 0;
          for (int k = 0; k < kDepth; ++k) sum += a_value(row, k) * b_value(column, k);
          std::memcpy(&found, &result.memory[static_cast<size_t>(4096 + row * 64 + column)], 4);
          wrong += found != sum;
        }
      }
      CHECK(wrong == 0);
    }
  }
}

TEST_CASE("columns of an operand that was never written are NaN, the others right") {
  const Layout& plain = kLayouts[0];
  std::string text = multiply_text(plain, plain, "");
  const std::string all = "setp.lt.u32 %p1, %r1, 4096";
  text.replace(text.find(all), all.size(), "setp.lt.u32 %p1, %r1, 3072");  // A, and half of B
  const Result result = run_on(text, memory_of(plain, plain));
  INFO(result.wrong);
  REQUIRE(result.wrong.empty());
  for (int column = 0; column < kColumns; ++column) {
    float found = 0, sum = 0;
    std::memcpy(&found, &result.memory[static_cast<size_t>(4096 + 5 * 64 + column)], 4);
    for (int k = 0; k < kDepth; ++k) sum += a_value(5, k) * b_value(column, k);
    CHECK((column < kColumns / 2 ? found == sum : std::isnan(found)));
  }
}

TEST_CASE("what is wrong around a multiplication is found out") {
  const Layout& plain = kLayouts[0];
  const auto says = [&](const std::string& between, bool fences, const char* what) {
    const Result result = run_on(multiply_text(plain, plain, between, fences), memory_of(plain, plain));
    INFO(result.wrong);
    CHECK(result.wrong.find(what) != std::string::npos);
  };
  says("", false, "stored without a fence.proxy.async");
  says("add.f32 %r100, %r100, %r101;\n", true, "there was no wgmma.wait_group");
  says("mov.b32 %r101, 0;\n", true, "there was no wgmma.wait_group");
  says("mov.b32 %r6, dynamic; st.shared.u32 [%r6+64], %r1;\n", true,
       "writes shared memory that a wgmma in flight reads");
  says("ret;\n", true, "ends with wgmma in flight");
}

}  // namespace
}  // namespace coda::ptx::testing
