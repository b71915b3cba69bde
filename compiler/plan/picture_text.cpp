#include "compiler/plan/picture_text.h"

#include <algorithm>

namespace coda {

std::string escape_html(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '&':
        escaped += "&amp;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::vector<std::string> wrapped(const std::string& text, size_t most) {
  std::vector<std::string> lines;
  const size_t indent = std::min(text.find_first_not_of(' '), text.size());
  const std::string deeper(indent + 2, ' ');
  std::string rest = text;
  while (rest.size() > most) {
    size_t cut = rest.rfind(' ', most);
    if (cut == std::string::npos || cut <= (lines.empty() ? indent : deeper.size())) {  // one long word
      cut = most;
      while (cut > 0 && (static_cast<unsigned char>(rest[cut]) & 0xc0) == 0x80) --cut;
      lines.push_back(rest.substr(0, cut));
      rest = deeper + rest.substr(cut);
      continue;
    }
    lines.push_back(rest.substr(0, cut));
    rest = deeper + rest.substr(cut + 1);
  }
  if (!rest.empty()) lines.push_back(rest);
  return lines;
}

}  // namespace coda
