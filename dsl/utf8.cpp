#include "dsl/utf8.h"

#include <bit>
#include <cstdint>
#include <cstring>

namespace coda {
namespace {

/// Lead bytes in [lead_first, lead_last] take `continuations` more bytes, of which the first is in [low, high].
struct Form {
  unsigned char lead_first, lead_last;
  int continuations;
  unsigned char low, high;
};
constexpr Form kForms[] = {
    {0x00, 0x7F, 0, 0, 0},       {0xC2, 0xDF, 1, 0x80, 0xBF}, {0xE0, 0xE0, 2, 0xA0, 0xBF},
    {0xE1, 0xEC, 2, 0x80, 0xBF}, {0xED, 0xED, 2, 0x80, 0x9F}, {0xEE, 0xEF, 2, 0x80, 0xBF},
    {0xF0, 0xF0, 3, 0x90, 0xBF}, {0xF1, 0xF3, 3, 0x80, 0xBF}, {0xF4, 0xF4, 3, 0x80, 0x8F},
};

/// Bytes of the code point at `at`; 0 if there is none.
size_t code_point_size(std::string_view text, size_t at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  for (const Form& form : kForms) {
    if (lead < form.lead_first || lead > form.lead_last) continue;
    const size_t size = 1 + static_cast<size_t>(form.continuations);
    if (at + size > text.size()) return 0;
    for (size_t i = 1; i < size; ++i) {
      const auto byte = static_cast<unsigned char>(text[at + i]);
      if (i == 1 ? byte < form.low || byte > form.high : !is_utf8_continuation(text[at + i])) return 0;
    }
    return size;
  }
  return 0;
}

}  // namespace

size_t count_code_points(std::string_view text) {
  constexpr uint64_t kLowest = 0x0101010101010101;  // of each byte
  size_t continuations = 0, at = 0;
  for (uint64_t word = 0; at + sizeof(word) <= text.size(); at += sizeof(word)) {
    std::memcpy(&word, text.data() + at, sizeof(word));
    continuations += static_cast<size_t>(std::popcount((word >> 7) & ~(word >> 6) & kLowest));
  }
  for (; at < text.size(); ++at) continuations += is_utf8_continuation(text[at]);
  return text.size() - continuations;
}

std::optional<size_t> first_invalid_utf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const size_t size = code_point_size(text, at);
    if (size == 0) return at;
    at += size;
  }
  return std::nullopt;
}

}  // namespace coda
