// Words of Python, C, NumPy and PyTorch that people write, and what this language has in their place.
#pragma once

#include <string>
#include <string_view>

namespace coda {

/// The way out of a word that begins or joins statements elsewhere, as `return`; "" for any other.
std::string_view instead_of_statement(std::string_view word);
/// The way out of a function's name that is known elsewhere, as `matmul`; "" for any other.
std::string_view instead_of_function(std::string_view name);
/// The element type that `float16` or `half` means; "" for any other name.
std::string_view instead_of_type(std::string_view name);
/// The same of a function's argument by its name.
std::string_view instead_of_argument(std::string_view keyword);
/// A module whose functions are called by a prefix, as `torch`.
bool is_foreign_module(std::string_view name);

/// What to write for a `.member` of the value whose text is `text` ("" if it is long); `called`: a `(` follows.
std::string instead_of_member(const std::string& text, const std::string& member, bool called);

}  // namespace coda
