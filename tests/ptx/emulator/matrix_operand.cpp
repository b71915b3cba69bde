#include "tests/ptx/emulator/matrix_operand.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "tests/ptx/emulator/addresses.h"
#include "tests/ptx/emulator/number_formats.h"
#include "tests/ptx/emulator/shared_memory.h"
#include "tests/ptx/emulator/warp.h"

namespace coda::ptx {
namespace {

using Element = MatrixShape::Element;

constexpr uint32_t kUnit = 16, kLine = 128;

/// A descriptor's fields, in bytes.
struct Layout {
  uint32_t start, leading, stride, span;  ///< span: bytes of a swizzled row, 16 if there is no swizzle
  bool other_major;
  uint32_t element_bytes;

  Layout(uint64_t d, bool other, uint32_t bytes)
      : start((d & 0x3fff) * kUnit),
        leading((d >> 16 & 0x3fff) * kUnit),
        stride((d >> 32 & 0x3fff) * kUnit),
        other_major(other),
        element_bytes(bytes) {
    constexpr uint32_t kSpans[] = {16, 128, 64, 32};
    span = kSpans[d >> 62];
  }

  /// The address of the 16 bytes that hold row i (or 8 rows from i on, if rows are contiguous) at depth k.
  uint32_t address(uint32_t i, uint32_t k) const {
    uint32_t at = start;
    if (!other_major) {
      const uint32_t byte = k * element_bytes;
      at += i / 8 * stride + i % 8 * span + byte % span;
      at += byte / span * leading;  // only without swizzle is a row narrower than an instruction's depth
    } else {
      const uint32_t per_span = span / element_bytes;
      const uint32_t between = span == kUnit ? stride : leading, deeper = span == kUnit ? leading : stride;
      at += i / per_span * between + i % per_span * element_bytes + k / 8 * deeper + k % 8 * span;
    }
    const uint32_t rows = span / kUnit - 1;
    return at ^ ((at / kLine & rows) * kUnit);
  }
};

}  // namespace

float element_value(Element element, uint32_t bits) {
  float value = 0;
  switch (element) {
    case Element::BF16:
      bits <<= 16;
      std::memcpy(&value, &bits, sizeof(value));
      return value;
    case Element::F16: {
      static const std::vector<float> halves = [] {
        std::vector<float> all(65536);
        for (uint32_t i = 0; i < all.size(); ++i) all[i] = decode_float(i, kF16);
        return all;
      }();
      return halves[bits & 0xffff];
    }
    case Element::TF32:
      bits &= 0xffffe000;
      std::memcpy(&value, &bits, sizeof(value));
      return value;
    case Element::E4M3:
      return decoded_e4m3()[bits & 255];
    case Element::E5M2:
      return decoded_e5m2()[bits & 255];
    case Element::S8:
      return static_cast<float>(static_cast<int8_t>(bits));
    case Element::U8:
      return static_cast<float>(bits & 255);
  }
  return value;
}

std::string read_operand(SharedMemory& shared, const std::vector<Warp*>& by, uint64_t descriptor, int rows, int depth,
                         Element element, bool other_major, MatrixOperand& operand) {
  if ((descriptor >> 49 & 7) != 0) return "a descriptor with a base offset";
  const uint32_t element_bytes = element == Element::TF32                              ? 4
                                 : element == Element::BF16 || element == Element::F16 ? 2
                                                                                       : 1;
  const Layout layout(descriptor, other_major, element_bytes);
  const auto n = static_cast<uint32_t>(rows), d = static_cast<uint32_t>(depth), per_unit = kUnit / element_bytes;
  const bool integer = element == Element::S8 || element == Element::U8;
  (integer ? static_cast<void>(operand.integers.resize(n * d)) : static_cast<void>(operand.values.resize(n * d)));
  operand.begin = ~0u;
  // One chunk of 16 bytes after the other: along the depth, or along rows.
  const uint32_t outer = other_major ? d : n, inner = other_major ? n : d;
  for (uint32_t o = 0; o < outer; ++o) {
    for (uint32_t c = 0; c < inner; c += per_unit) {
      const uint32_t address = other_major ? layout.address(c, o) : layout.address(o, c);
      const uint32_t at = address - kSharedStart;
      if (address < kSharedStart || at + kUnit > shared.size()) return "its descriptor leads outside of shared memory";
      if (const char* wrong = shared.check_async_read(at, kUnit))
        return std::string(wrong) + ", at " + std::to_string(at);
      for (const Warp* warp : by) {
        if (const char* wrong = shared.accesses().matrix_read(at, warp->time)) {
          return std::string(wrong) + ", at " + std::to_string(at);
        }
      }
      operand.begin = std::min(operand.begin, at);
      operand.end = std::max(operand.end, at + kUnit);
      for (uint32_t e = 0; e < per_unit && c + e < inner; ++e) {
        uint32_t bits = 0;
        std::memcpy(&bits, shared.data() + at + e * element_bytes, element_bytes);
        const uint32_t to = other_major ? o * n + c + e : (c + e) * n + o;
        if (integer) {
          operand.integers[to] = element == Element::S8 ? static_cast<int8_t>(bits) : static_cast<int32_t>(bits);
        } else {
          operand.values[to] = element_value(element, bits);
        }
      }
    }
  }
  operand.finite = std::all_of(operand.values.begin(), operand.values.end(), [](float v) { return std::isfinite(v); });
  return "";
}

}  // namespace coda::ptx
