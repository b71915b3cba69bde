// The words of the IR's text form, shared by writer and reader.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "compiler/ir/graph.h"

namespace coda {

/// In enum order.
inline constexpr std::array<std::string_view, 12> kKindWords = {
    "input", "constant", "index", "extent", "contract", "sum", "apply", "view", "put", "reduce", "gather", "cast"};
inline constexpr std::array<std::string_view, 3> kClassWords = {"Real", "Int", "Bool"};
inline constexpr std::array<std::string_view, 4> kRoleWords = {"in", "out", "inout", "scalar"};

template <typename Enum, size_t Count>
std::string_view word_of(const std::array<std::string_view, Count>& words, Enum value) {
  return words[static_cast<size_t>(value)];
}

template <typename Enum, size_t Count>
std::optional<Enum> from_word(const std::array<std::string_view, Count>& words, std::string_view word) {
  for (size_t i = 0; i < Count; ++i) {
    if (words[i] == word) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

}  // namespace coda
