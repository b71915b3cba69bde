#include "tests/ptx/emulator/syntax.h"

#include <cctype>

#include "tests/ptx/emulator/fault.h"

namespace coda::ptx {
namespace {

bool in_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '%'; }

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  ModuleText module() {
    ModuleText module;
    while (!at_end()) {
      const int line = line_;
      std::string head = until(";{(", true);
      if (at_end()) break;
      if (const size_t entry = head.find(".entry"); entry != std::string::npos) {
        for (const std::string& word : words_of(head.substr(0, entry))) {
          if (word != ".visible" && word != ".weak") fail("'" + word + "' before a kernel");
        }
        module.entries.push_back(this->entry(words_of(head.substr(entry + 6)), line));
      } else if (peek() == ';') {
        ++at_;
        module.declarations.push_back(head);
      } else {
        fail("only kernels are known, not '" + head + "'");
      }
    }
    return module;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw Fault("PTX line " + std::to_string(line_) + ": " + what);
  }

  bool at_end() {
    skip();
    return at_ >= text_.size();
  }
  char peek() {
    skip();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  /// Over blanks and comments.
  void skip() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\n') ++line_;
      if (std::isspace(static_cast<unsigned char>(c))) {
        ++at_;
      } else if (text_.compare(at_, 2, "//") == 0) {
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
      } else {
        return;
      }
    }
  }
  void expect(char c) {
    if (peek() != c) fail(std::string("expected '") + c + "', found '" + peek() + "'");
    ++at_;
  }
  bool take(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  /// The text up to one of the characters, comments left out; at the top, lines that are whole directives end with it.
  std::string until(std::string_view ends, bool lines) {
    std::string result;
    skip();
    while (at_ < text_.size() && ends.find(text_[at_]) == std::string_view::npos) {
      const bool line_ends = text_[at_] == '\n' || text_.compare(at_, 2, "//") == 0;
      if (line_ends) {
        for (const char* whole : {".version", ".target", ".address_size"}) {
          if (lines && result.starts_with(whole)) result.clear();
        }
        skip();
        if (!result.empty()) result += ' ';
      } else {
        result += text_[at_++];
      }
    }
    return result;
  }

  EntryText entry(const std::vector<std::string>& names, int line) {
    EntryText entry;
    entry.line = line;
    if (names.size() != 1) fail("a kernel has one name");
    entry.name = names[0];
    if (take('(')) {
      while (peek() != ')') {
        entry.parameters.push_back(until(",)", false));
        take(',');
      }
      expect(')');
    }
    entry.attributes = until("{", false);
    expect('{');
    for (int depth = 1;;) {
      entry.body.push_back(statement());
      const Statement::Kind kind = entry.body.back().kind;
      if (kind == Statement::Kind::Open) ++depth;
      if (kind == Statement::Kind::Close && --depth == 0) break;
    }
    entry.body.pop_back();
    return entry;
  }

  Statement statement() {
    Statement s;
    if (at_end()) fail("the text ends within a kernel");
    s.line = line_;
    if (take('{')) {
      s.kind = Statement::Kind::Open;
      return s;
    }
    if (take('}')) {
      s.kind = Statement::Kind::Close;
      return s;
    }
    if (peek() == '.') {
      s.kind = Statement::Kind::Directive;
      s.name = until(";", false);
      expect(';');
      return s;
    }
    if (take('@')) {
      s.negated = take('!');
      s.guard = name();
    }
    skip();
    while (at_ < text_.size() && (in_name(text_[at_]) || text_[at_] == '.' || text_.compare(at_, 2, "::") == 0)) {
      if (text_[at_] == ':') s.name += text_[at_++];
      s.name += text_[at_++];
    }
    if (s.name.empty()) fail(std::string("expected an instruction, found '") + peek() + "'");
    if (s.guard.empty() && take(':')) {
      s.kind = Statement::Kind::Label;
      return s;
    }
    while (peek() != ';') {
      s.arguments.push_back(argument());
      if (!take(',')) break;
    }
    expect(';');
    return s;
  }

  std::string name() {
    std::string result;
    skip();
    while (at_ < text_.size() && (in_name(text_[at_]) || text_[at_] == '.')) result += text_[at_++];
    if (result.empty()) fail(std::string("expected a name, found '") + peek() + "'");
    return result;
  }

  Argument argument() {
    Argument a;
    if (take('{')) {
      a.kind = Argument::Kind::List;
      while (!take('}')) {
        a.list.push_back(argument());
        take(',');
      }
      return a;
    }
    if (take('[')) {
      Argument base = argument();
      a = base;
      a.kind = Argument::Kind::Address;
      if (base.kind == Argument::Kind::Integer) a.offset = static_cast<int64_t>(base.bits);
      if (take(',')) a.list = argument().list;
      expect(']');
      return a;
    }
    const char first = peek();
    if (std::isdigit(static_cast<unsigned char>(first)) || first == '-') return number();
    a.name = name();
    if (take('+')) a.offset = static_cast<int64_t>(number().bits);
    if (peek() == '-') a.offset = static_cast<int64_t>(number().bits);
    return a;
  }

  Argument number() {
    Argument a;
    a.kind = Argument::Kind::Integer;
    const bool negative = take('-');
    const std::string digits = name();
    const bool prefixed = digits.size() > 2 && digits[0] == '0';
    const auto in_base = [&](size_t skip, int base) {
      size_t used = 0;
      try {
        a.bits = std::stoull(digits.substr(skip), &used, base);
      } catch (const std::exception&) {
        used = 0;
      }
      if (used == 0 || used + skip != digits.size()) fail("'" + digits + "' is no number");
    };
    if (prefixed && (digits[1] == 'f' || digits[1] == 'F' || digits[1] == 'd' || digits[1] == 'D')) {
      a.kind = digits[1] == 'f' || digits[1] == 'F' ? Argument::Kind::Float32 : Argument::Kind::Float64;
      in_base(2, 16);
    } else if (prefixed && (digits[1] == 'x' || digits[1] == 'X')) {
      in_base(2, 16);
    } else {
      in_base(0, 10);
    }
    if (negative) a.bits = ~a.bits + 1;
    return a;
  }

  std::string_view text_;
  size_t at_ = 0;
  int line_ = 1;
};

}  // namespace

ModuleText read_syntax(std::string_view text) { return Reader(text).module(); }

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  const auto end = [&] {
    if (!word.empty()) words.push_back(word);
    word.clear();
  };
  for (const char c : text) {
    if (in_name(c) || c == '.' || c == '"') {
      word += c;
      continue;
    }
    end();
    if (c != ',' && !std::isspace(static_cast<unsigned char>(c))) words.emplace_back(1, c);
  }
  end();
  return words;
}

}  // namespace coda::ptx
