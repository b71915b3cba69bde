// Text of the picture and of the page around it: escaped for HTML, and in lines that fit.
#pragma once

#include <string>
#include <vector>

namespace coda {

std::string escape_html(const std::string& text);
/// Lines of at most `most` characters, broken behind a blank; what goes on is indented by two. No line for no text.
std::vector<std::string> wrapped(const std::string& text, size_t most);

}  // namespace coda
