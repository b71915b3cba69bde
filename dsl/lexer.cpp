#include "dsl/lexer.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>

#include "dsl/utf8.h"

namespace coda {
namespace {

constexpr std::array<std::string_view, 18> kKeywords = {"and",  "as",     "block",    "const",  "false",  "fn",
                                                        "grad", "import", "inout",    "kernel", "layout", "let",
                                                        "not",  "or",     "schedule", "true",   "where",  "wrt"};
/// Longer spellings first.
constexpr std::array<std::string_view, 26> kSymbols = {"->", "**", "+=", "==", "!=", "<=", ">=", "(", ")",
                                                       "[",  "]",  "{",  "}",  ",",  ":",  "|",  ".", "=",
                                                       "<",  ">",  "+",  "-",  "*",  "/",  "%",  "@"};
/// A line that ends with one of these goes on.
constexpr std::array<std::string_view, 25> kJoinsNext = {"+",  "-",  "*",   "/",  "@",   "**", "%",    "==", "!=",
                                                         "<",  "<=", ">",   ">=", "=",   "+=", ",",    ":",  "|",
                                                         "->", "{",  "and", "or", "not", "as", "where"};
/// A line that begins with one of these continues the one before.
constexpr std::array<std::string_view, 5> kJoinsPrevious = {"->", "{", "}", "where", "schedule"};
/// Where one of these begins a line, open parentheses were forgotten: nothing inside them can begin so.
constexpr std::array<std::string_view, 5> kBeginsItem = {"kernel", "block", "fn", "grad", "import"};

/// What other languages write, and how it is written here.
struct Foreign {
  std::string_view spelling, instead;
};
constexpr Foreign kForeignOperators[] = {
    {"&&", "`and`"},          {"||", "`or`"},        {"!", "`not`"},
    {"^", "a power as `**`"}, {"-=", "`+= -(…)`"},   {"*=", "`y = y * …`"},
    {"/=", "`y = y / …`"},    {"@=", "`y = y @ …`"}, {"?", "`select(c, x, y)` for `c ? x : y`"}};

template <typename Table>
bool contains(const Table& table, std::string_view text) {
  return std::find(table.begin(), table.end(), text) != table.end();
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

class Lexer {
 public:
  Lexer(FileId file, const SourceMap& sources, Diagnostics& diagnostics)
      : file_(file), text_(sources.text(file)), diagnostics_(diagnostics) {}

  Lexed run() {
    if (text_.size() > kMaxSourceBytes) {
      report(DiagId::E0103, span(0, 0), {std::to_string(text_.size()), std::to_string(kMaxSourceBytes)});
      text_ = {};
    } else if (const auto bad = first_invalid_utf8(text_)) {
      const auto at = static_cast<uint32_t>(*bad);
      report(DiagId::E0102, span(at, at + 1));
      text_ = {};
    }
    if (text_.starts_with("\xEF\xBB\xBF")) at_ = 3;
    while (at_ < text_.size() && out_.errors.size() < kMaxErrors) next();
    const auto end = static_cast<uint32_t>(text_.size());
    out_.tokens.push_back({TokenKind::End, span(end, end), {}});
    return std::move(out_);
  }

 private:
  Span span(uint32_t begin, uint32_t end) const { return {file_, begin, end}; }
  bool sees(std::string_view text) const { return text_.substr(at_).starts_with(text); }
  char peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  void report(DiagId id, Span where, std::vector<std::string> arguments = {}) {
    diagnostics_.report(id, where, std::move(arguments));
    out_.errors.push_back(where);
  }

  void next() {
    const char c = peek();
    if (c == ' ' || c == '\t') {
      ++at_;
    } else if (c == '\n' || (c == '\r' && peek(1) == '\n')) {
      if (!line_end_.valid()) line_end_ = span(at_, at_ + 1);
      at_ += c == '\r' ? 2 : 1;
      fresh_line_ = true;
    } else if (sees("//")) {
      comment();
    } else if (is_digit(c)) {
      number();
    } else if (is_letter(c)) {
      const uint32_t begin = at_;
      while (is_letter(peek())) ++at_;
      const bool keyword = contains(kKeywords, text_.substr(begin, at_ - begin));
      emit(keyword ? TokenKind::Keyword : TokenKind::Name, begin);
    } else if (c == '"') {
      string();
    } else {
      symbol();
    }
  }

  void comment() {
    const uint32_t begin = at_;
    while (at_ < text_.size() && peek() != '\n' && peek() != '\r') ++at_;
    warn_of_quotient(text_.substr(begin + 2, at_ - begin - 2), begin);
    out_.comments.push_back({span(begin, at_), fresh_line_});
  }

  /// Behind an operand, a number alone was probably meant as Python's divisor.
  void warn_of_quotient(std::string_view comment, uint32_t begin) {
    if (fresh_line_ || out_.tokens.empty()) return;
    const Token& last = out_.tokens.back();
    const bool is_operand = last.kind == TokenKind::Name || last.text == ")";
    while (!comment.empty() && comment.front() == ' ') comment.remove_prefix(1);
    while (!comment.empty() && comment.back() == ' ') comment.remove_suffix(1);
    if (!is_operand || comment.empty() || !std::all_of(comment.begin(), comment.end(), is_digit)) return;
    diagnostics_.report(DiagId::E0141, span(begin, at_), {std::string(comment)});
  }

  void number() {
    const uint32_t begin = at_;
    TokenKind kind = TokenKind::Integer;
    while (is_digit(peek())) ++at_;
    if (peek() == '.' && is_digit(peek(1))) {
      kind = TokenKind::Number;
      ++at_;
      while (is_digit(peek())) ++at_;
    }
    if (peek() == 'e' || peek() == 'E') {
      const uint32_t sign = peek(1) == '+' || peek(1) == '-' ? 1 : 0;
      if (is_digit(peek(1 + sign))) {
        kind = TokenKind::Number;
        at_ += 2 + sign;
        while (is_digit(peek())) ++at_;
      }
    }
    const uint32_t end = at_;
    while (is_letter(peek())) ++at_;
    if (at_ > end) report(DiagId::E0106, span(begin, at_), {std::string(text_.substr(begin, at_ - begin))});
    emit(kind, begin, end);
  }

  void string() {
    const uint32_t begin = at_++;
    while (at_ < text_.size() && peek() != '"' && peek() != '\n' && peek() != '\r') ++at_;
    if (peek() == '"') {
      ++at_;
    } else {
      report(DiagId::E0104, span(begin, at_));
    }
    emit(TokenKind::String, begin);
  }

  void symbol() {
    const uint32_t begin = at_;
    for (const Foreign& foreign : kForeignOperators) {
      if (!sees(foreign.spelling) || sees("!=")) continue;
      at_ += static_cast<uint32_t>(foreign.spelling.size());
      report(DiagId::E0109, span(begin, at_), {std::string(foreign.spelling), std::string(foreign.instead)});
      return;
    }
    for (const std::string_view spelling : {"/*", "#"}) {
      if (!sees(spelling)) continue;
      while (at_ < text_.size() && peek() != '\n') ++at_;
      report(DiagId::E0108, span(begin, begin + static_cast<uint32_t>(spelling.size())), {std::string(spelling)});
      return;
    }
    if (peek() == ';') {
      ++at_;
      report(DiagId::E0105, span(begin, at_));
      return;
    }
    for (const std::string_view spelling : kSymbols) {
      if (!sees(spelling)) continue;
      at_ += static_cast<uint32_t>(spelling.size());
      emit(TokenKind::Symbol, begin);
      return;
    }
    unexpected();
  }

  void unexpected() {
    const uint32_t begin = at_++;
    while (at_ < text_.size() && is_utf8_continuation(text_[at_])) ++at_;
    std::string shown(text_.substr(begin, at_ - begin));
    if (shown.size() == 1 && (static_cast<unsigned char>(shown[0]) < 0x20 || shown[0] == 0x7F)) {
      char code[8];
      std::snprintf(code, sizeof code, "\\x%02x", static_cast<unsigned>(static_cast<unsigned char>(shown[0])));
      shown = code;
    }
    report(DiagId::E0101, span(begin, at_), {shown});
  }

  void emit(TokenKind kind, uint32_t begin) { emit(kind, begin, at_); }

  void emit(TokenKind kind, uint32_t begin, uint32_t end) {
    const std::string_view text = text_.substr(begin, end - begin);
    if (line_end_.valid()) {
      if (kind == TokenKind::Keyword) drop_forgotten_brackets(text);
      const bool inside = !open_.empty() && open_.back() != '{';
      const bool first = out_.tokens.empty();
      if (!inside && !first && !joins_next(out_.tokens.back()) && !contains(kJoinsPrevious, text)) {
        out_.tokens.push_back({TokenKind::Newline, line_end_, {}});
      }
      line_end_ = {};
    }
    fresh_line_ = false;
    if (kind == TokenKind::Symbol) track_bracket(text[0]);
    out_.tokens.push_back({kind, span(begin, end), text});
  }

  static bool joins_next(const Token& token) {
    return (token.kind == TokenKind::Symbol || token.kind == TokenKind::Keyword) && contains(kJoinsNext, token.text);
  }

  /// Without this one forgotten `)` would swallow the rest of the file. It changes no valid program.
  void drop_forgotten_brackets(std::string_view keyword) {
    const bool item = contains(kBeginsItem, keyword);
    if (!item && keyword != "let") return;
    while (!open_.empty() && (item || open_.back() != '{')) open_.pop_back();
  }

  void track_bracket(char c) {
    if (c == '(' || c == '[' || c == '{') open_.push_back(c);
    if (c == ')' && !open_.empty() && open_.back() == '(') open_.pop_back();
    if (c == ']' && !open_.empty() && open_.back() == '[') open_.pop_back();
    if (c == '}') {
      while (!open_.empty() && open_.back() != '{') open_.pop_back();
      if (!open_.empty()) open_.pop_back();
    }
  }

  FileId file_;
  std::string_view text_;
  Diagnostics& diagnostics_;
  Lexed out_;
  std::vector<char> open_;  ///< brackets
  Span line_end_;           ///< of the line that ended since the last token
  uint32_t at_ = 0;
  bool fresh_line_ = true;
};

}  // namespace

Lexed lex(FileId file, const SourceMap& sources, Diagnostics& diagnostics) {
  return Lexer(file, sources, diagnostics).run();
}

}  // namespace coda
