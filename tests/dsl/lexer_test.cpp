#include "dsl/lexer.h"

#include <catch2/catch.hpp>

using namespace coda;

namespace {

struct LexedText {
  explicit LexedText(std::string text) : file(sources.add("t", std::move(text))), diagnostics(sources) {
    lexed = lex(file, sources, diagnostics);
  }
  /// Spellings; a line end that is a token as `;`.
  std::string spelled() const {
    std::string out;
    for (const Token& token : lexed.tokens) {
      if (token.kind == TokenKind::End) break;
      if (!out.empty()) out += ' ';
      out += token.kind == TokenKind::Newline ? ";" : std::string(token.text);
    }
    return out;
  }

  SourceMap sources;
  FileId file;
  Diagnostics diagnostics;
  Lexed lexed;
};

std::string spelled(const std::string& text) { return LexedText(text).spelled(); }

}  // namespace

TEST_CASE("nothing but the end is in an empty text, in space, in a comment") {
  for (const char* text : {"", " \t", "\n\n", "// comment", "\xEF\xBB\xBF", "\xEF\xBB\xBF// \xC3\xA4\r\n"}) {
    const LexedText lexed(text);
    CHECK(lexed.lexed.tokens.size() == 1);
    CHECK(lexed.lexed.tokens[0].kind == TokenKind::End);
    CHECK_FALSE(lexed.diagnostics.has_errors());
  }
}

TEST_CASE("a line's end is a token except inside brackets, after an operator and before a clause") {
  CHECK(spelled("a\nb") == "a ; b");
  CHECK(spelled("\n\na\r\n\r\n\nb\n") == "a ; b");
  CHECK(spelled("a +\nb") == "a + b");
  CHECK(spelled("a + // c\n\n// d\nb") == "a + b");
  CHECK(spelled("a\n+ b") == "a ; + b");
  CHECK(spelled("f(a\nb\n)\nc") == "f ( a b ) ; c");
  CHECK(spelled("[a\nb]\nc") == "[ a b ] ; c");
  CHECK(spelled("{\na\nb\n}\nc") == "{ a ; b } ; c");
  CHECK(spelled("(\n{\na\nb\n}\n)") == "( { a ; b } )");
  CHECK(spelled("f()\n-> (y)\nwhere\nM\nschedule\n{ }") == "f ( ) -> ( y ) where M schedule { }");
  CHECK(spelled("not\na and\nb") == "not a and b");
  CHECK(spelled("let x =\n3") == "let x = 3");
}

TEST_CASE("numbers") {
  const LexedText lexed("0 12 1.5 1e3 2.5E-3 1.T 7.x");
  std::vector<TokenKind> kinds;
  for (const Token& token : lexed.lexed.tokens) kinds.push_back(token.kind);
  using K = TokenKind;
  CHECK(kinds == std::vector<K>{K::Integer, K::Integer, K::Number, K::Number, K::Number, K::Integer, K::Symbol, K::Name,
                                K::Integer, K::Symbol, K::Name, K::End});
}

TEST_CASE("the longest symbol is taken, and a keyword only as a whole word") {
  CHECK(spelled("a**b*c->d-e>=f>g+=h==i!=j<=k") == "a ** b * c -> d - e >= f > g += h == i != j <= k");
  const LexedText lexed("letter let as_ in");
  CHECK(lexed.lexed.tokens[0].kind == TokenKind::Name);
  CHECK(lexed.lexed.tokens[1].kind == TokenKind::Keyword);
  CHECK(lexed.lexed.tokens[2].kind == TokenKind::Name);
  CHECK(lexed.lexed.tokens[3].kind == TokenKind::Name);
}

TEST_CASE("comments say whether they have a line of their own") {
  const LexedText lexed("// one\na // two\n  // three\n\"// none\" // four");
  REQUIRE(lexed.lexed.comments.size() == 4);
  CHECK(lexed.lexed.comments[0].own_line);
  CHECK_FALSE(lexed.lexed.comments[1].own_line);
  CHECK(lexed.lexed.comments[2].own_line);
  CHECK_FALSE(lexed.lexed.comments[3].own_line);
  CHECK(lexed.sources.text(lexed.lexed.comments[1].span) == "// two");
}

TEST_CASE("spans are byte ranges of the text") {
  const LexedText lexed(
      "\xEF\xBB\xBF"
      "ab \"\xC3\xA4\" +=");
  CHECK(lexed.lexed.tokens[0].span.begin == 3);
  CHECK(lexed.lexed.tokens[1].span.end == 10);
  CHECK(lexed.lexed.tokens[2].text == "+=");
  for (const Token& token : lexed.lexed.tokens) CHECK(lexed.sources.text(token.span) == token.text);
}

TEST_CASE("an item's keyword at the start of a line ends forgotten brackets") {
  CHECK(spelled("f((a\nfn g") == "f ( ( a ; fn g");
  CHECK(spelled("{ f(a\nlet b\nlet c }") == "{ f ( a ; let b ; let c }");
}

TEST_CASE("what is no token is reported and skipped") {
  struct Case {
    const char* text;
    DiagId id;
    const char* left;
  };
  const Case cases[] = {
      {"a $ b", DiagId::E0101, "a b"},    {"a ; b", DiagId::E0105, "a b"},      {"a \"b", DiagId::E0104, "a \"b"},
      {"a 2F b", DiagId::E0106, "a 2 b"}, {"a # b\nc", DiagId::E0108, "a ; c"}, {"a /* b", DiagId::E0108, "a"},
      {"a && b", DiagId::E0109, "a b"},   {"a\rb", DiagId::E0101, "a b"},       {"a \\ b", DiagId::E0101, "a b"}};
  for (const Case& test : cases) {
    INFO(test.text);
    const LexedText lexed(test.text);
    REQUIRE(lexed.diagnostics.all().size() == 1);
    CHECK(lexed.diagnostics.all()[0].id == test.id);
    CHECK(lexed.spelled() == test.left);
    CHECK(lexed.lexed.errors.size() == 1);
  }
}

TEST_CASE("the largest file is read, a larger one refused") {
  std::string text = "fn f(x) = x // ";
  text.resize(kMaxSourceBytes, '.');
  CHECK(LexedText(text).lexed.tokens.size() > 5);
  CHECK_FALSE(LexedText(text).diagnostics.has_errors());
  const LexedText larger(text + ".");
  CHECK(larger.lexed.tokens.size() == 1);
  CHECK(larger.diagnostics.all().at(0).id == DiagId::E0103);
}

TEST_CASE("errors end at a limit") {
  const LexedText lexed(std::string(100000, '$'));
  CHECK(lexed.diagnostics.all().size() == kMaxErrors);
}
