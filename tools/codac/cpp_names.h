// Names of a program as names of C++, and any text within a comment or a string of it.
#pragma once

#include <string>
#include <string_view>

namespace coda {

/// A namespace at the top, where keywords, macros and the C library's functions are taken; those get an underscore.
std::string cpp_namespace(const std::string& name);
/// A member of the class `owner`.
std::string cpp_member(const std::string& name, std::string_view owner);

/// `"..."`, escaped.
std::string cpp_string(std::string_view text);
/// One line of printable text: a `//` comment that nothing can end or continue.
std::string cpp_comment(std::string_view text);

}  // namespace coda
