// Validation of UTF-8 (RFC 3629: no overlong forms, no surrogates, nothing beyond U+10FFFF).
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace coda {

inline bool is_utf8_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

/// Code points of valid UTF-8: bytes that continue none. Fast, for lines may be long and messages many.
size_t count_code_points(std::string_view text);

/// Offset of the first byte that begins no valid code point.
std::optional<size_t> first_invalid_utf8(std::string_view text);

}  // namespace coda
