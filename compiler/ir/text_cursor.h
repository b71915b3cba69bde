// Reads the pieces of the IR's text form from one line: words, numbers, dimensions, index maps.
#pragma once

#include <cctype>
#include <charconv>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/ir/graph.h"
#include "runtime/format/dim_text.h"

namespace coda {

/// A line, read from the left. The first mistake is kept; what is read after it is empty.
class Cursor {
 public:
  explicit Cursor(std::string_view line) : line_(line) {}

  bool failed() const { return !error_.empty(); }
  const std::string& error() const { return error_; }
  void fail(std::string error) {
    if (!failed()) error_ = std::move(error);
  }

  bool at_end() {
    skip_spaces();
    return failed() || at_ == line_.size();
  }
  bool eat(std::string_view token) {
    skip_spaces();
    if (failed() || line_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }
  void expect(std::string_view token) {
    if (!eat(token)) fail("expected '" + std::string(token) + "' before '" + std::string(line_.substr(at_)) + "'");
  }

  /// Up to the next space or punctuation.
  std::string_view word() {
    skip_spaces();
    const size_t begin = at_;
    while (at_ < line_.size() && !std::isspace(static_cast<unsigned char>(line_[at_])) &&
           std::string_view("(),;:[]*=%").find(line_[at_]) == std::string_view::npos) {
      ++at_;
    }
    if (at_ == begin) fail("expected a word before '" + std::string(line_.substr(at_)) + "'");
    return failed() ? std::string_view() : line_.substr(begin, at_ - begin);
  }
  std::string_view rest() {
    skip_spaces();
    const size_t begin = std::exchange(at_, line_.size());
    return line_.substr(begin);
  }

  /// Up to one of `ends` outside parentheses, without spaces around.
  std::string_view until(std::string_view ends) {
    skip_spaces();
    const size_t begin = at_;
    int depth = 0;
    for (; at_ < line_.size(); ++at_) {
      if (depth == 0 && ends.find(line_[at_]) != std::string_view::npos) break;
      depth += line_[at_] == '(' ? 1 : line_[at_] == ')' ? -1 : 0;
    }
    size_t end = at_;
    while (end > begin && line_[end - 1] == ' ') --end;
    return failed() ? std::string_view() : line_.substr(begin, end - begin);
  }

  template <typename Number>
  Number number() {
    const std::string_view text = word();
    Number value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) fail("'" + std::string(text) + "' is no number");
    return value;
  }

  Dim dim(std::string_view ends) {
    const std::string_view text = until(ends);
    if (failed()) return {};
    auto dim = parse_dim(text);
    if (!dim) fail("'" + std::string(text) + "' is no dimension");
    return dim.ok() ? *dim : Dim();
  }
  Dim bracketed_dim() {
    expect("(");
    Dim value = dim(")");
    expect(")");
    return value;
  }

  /// "name" or "name=extent".
  NamedDim named_dim(std::string_view ends) {
    const std::string_view text = until(ends);
    const size_t equals = text.find('=');
    Cursor extent(equals == std::string_view::npos ? text : text.substr(equals + 1));
    NamedDim named{std::string(text.substr(0, equals)), extent.dim("")};
    if (extent.failed()) fail(extent.error());
    if (named.name.empty()) fail("a dimension without a name");
    return named;
  }
  std::vector<NamedDim> dim_list() {
    std::vector<NamedDim> dims;
    expect("[");
    if (eat("]")) return dims;
    do dims.push_back(named_dim(",]"));
    while (!failed() && eat(","));
    expect("]");
    return dims;
  }
  NamedDim one_dim() {
    expect("[");
    NamedDim dim = named_dim("]");
    expect("]");
    return dim;
  }

  AffineMap map() {
    AffineMap map;
    expect("(");
    map.offset = dim(";");
    expect(";");
    if (eat(")")) return map;
    do {
      NamedDim name = named_dim(":");
      expect(":");
      map.terms.push_back({std::move(name), dim(",)")});
    } while (!failed() && eat(","));
    expect(")");
    return map;
  }

 private:
  void skip_spaces() {
    while (at_ < line_.size() && line_[at_] == ' ') ++at_;
  }

  std::string_view line_;
  size_t at_ = 0;
  std::string error_;
};

}  // namespace coda
