// Holds grammar/coda.peg and the parser together. CODA_GRAMMAR_ROUNDS multiplies the random part.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cctype>
#include <cstdlib>
#include <regex>

#include "dsl/dump.h"
#include "dsl/lexer.h"
#include "tests/dsl/corpus.h"
#include "tests/dsl/one_file.h"
#include "tests/dsl/peg.h"
#include "tests/source_root.h"

using namespace coda;

namespace {

const std::string kRoot = source_root();

const peg::Grammar& grammar() {
  static const std::unique_ptr<peg::Grammar> grammar = [] {
    std::string error;
    auto read = peg::Grammar::read(read_file(kRoot + "/grammar/coda.peg"), error);
    INFO(error);
    REQUIRE(read);
    return read;
  }();
  return *grammar;
}

int rounds(int usual) {
  const char* factor = std::getenv("CODA_GRAMMAR_ROUNDS");
  return factor ? usual * std::max(1, std::atoi(factor)) : usual;
}

std::string function_name(const std::string& production) {
  std::string name = "parse";
  for (const char c : production) {
    if (std::isupper(static_cast<unsigned char>(c))) name += '_';
    name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return name;
}

std::vector<std::string> syntactic_functions() {
  std::vector<std::string> names;
  for (const std::string& name : grammar().order()) {
    if (!peg::Grammar::is_lexical(name)) names.push_back(function_name(name));
  }
  return names;
}

std::vector<std::string> find_all(const std::string& text, const std::string& pattern) {
  std::vector<std::string> found;
  const std::regex regex(pattern);
  for (std::sregex_iterator at(text.begin(), text.end(), regex), end; at != end; ++at) found.push_back((*at)[1]);
  return found;
}

/// Kinds and spellings, as the grammar names them.
std::vector<std::string> lexed_by_compiler(const std::string& text) {
  static const char* const kNames[] = {"KEYWORD", "NAME", "NUMBER", "INTEGER", "STRING", "SYMBOL", "NEWLINE", "END"};
  SourceMap sources;
  Diagnostics diagnostics(sources);
  std::vector<std::string> tokens;
  for (const Token& token : lex(sources.add("t", text), sources, diagnostics).tokens) {
    if (token.kind != TokenKind::End) {
      const std::string spelling = token.kind == TokenKind::Newline ? "\n" : std::string(token.text);
      tokens.push_back(kNames[static_cast<size_t>(token.kind)] + (" " + spelling));
    }
  }
  if (diagnostics.has_errors()) tokens.push_back("error");
  return tokens;
}

std::vector<std::string> lexed_by_grammar(const std::string& text) {
  std::vector<std::string> tokens;
  const auto raw = grammar().raw_tokens(text);
  if (!raw) return {"error"};
  for (const peg::Token& token : grammar().significant(*raw)) tokens.push_back(token.kind + " " + token.text);
  return tokens;
}

std::vector<CorpusText> corpus() {
  std::vector<CorpusText> texts = coda_files({"dsl/prelude", "examples", "tests"});
  for (CorpusText& block : fenced_blocks(kRoot + "/grammar/README.md")) texts.push_back(std::move(block));
  return texts;
}

/// Whether limits of size and range were met, which a grammar doesn't state.
bool beyond_grammar(const OneFile& parsed) {
  for (const Diagnostic& diagnostic : parsed.diagnostics.all()) {
    for (const DiagId id : {DiagId::E0102, DiagId::E0103, DiagId::E0107, DiagId::E0123}) {
      if (diagnostic.id == id) return true;
    }
  }
  return false;
}

}  // namespace

TEST_CASE("each production has a parser function, declared and defined in the grammar's order") {
  const std::vector<std::string> expected = syntactic_functions();
  REQUIRE(expected.size() > 40);

  const std::string header = read_file(kRoot + "/dsl/productions.h");
  CHECK(find_all(header.substr(0, header.find("What follows is no production")), R"( (parse_\w+)\()") == expected);

  std::vector<std::string> defined;
  for (const char* part : {"items", "signatures", "statements", "expressions"}) {
    for (const std::string& name :
         find_all(read_file(kRoot + "/dsl/parse_" + part + ".cpp"), R"(Parser::(parse_\w+)\([^)]*\) \{)")) {
      if (std::find(expected.begin(), expected.end(), name) != expected.end()) defined.push_back(name);
    }
  }
  CHECK(defined == expected);
}

TEST_CASE("lexer and grammar agree on every pair of words, on one line and on two") {
  std::vector<std::string> words = {"x",  "Dh_2", "7", "1.5", "2e-3", "\"s\"", "// c",
                                    "\t", "\r\n", "(", "{",   "[",    "1x"};
  for (const char* list : {"JOINS_NEXT", "JOINS_PREVIOUS"}) {
    for (const std::string& word : grammar().literals(list)) words.push_back(word);
  }
  const auto others = grammar().raw_tokens(
      "and as block const false fn grad import inout kernel layout let not or schedule true where wrt "
      "-> ** += == != <= >= ( ) [ ] { } , : | . = < > + - * / % @");
  for (const peg::Token& token : *others) {
    words.push_back(token.text);
  }
  for (const std::string& a : words) {
    for (const std::string& b : words) {
      for (const char* between : {" ", "\n", "\n\n", ""}) {
        const std::string text = "x " + a + between + b + " x";
        const auto by_grammar = lexed_by_grammar(text), by_compiler = lexed_by_compiler(text);
        INFO(text);
        const bool broken = by_grammar.back() == "error" || by_compiler.back() == "error";
        if (broken) {
          // The compiler also rejects words of other languages that the grammar cuts into symbols, to no avail.
          CHECK(by_compiler.back() == "error");
          CHECK_FALSE(grammar().accepts(text));
        } else if (text.find_first_of("()[]{}") == std::string::npos) {
          CHECK(by_grammar == by_compiler);
        }
      }
    }
  }
}

TEST_CASE("programs made from the grammar parse, and keep their tree when formatted") {
  peg::Generator generator(grammar(), 20260519);
  size_t longest = 0;
  for (int i = 0; i < rounds(1500); ++i) {
    const std::string text = generator.program();
    longest = std::max(longest, text.size());
    const OneFile parsed(text);
    INFO(text << "\n--\n" << parsed.diagnostics.render_text());
    REQUIRE(parsed.module);
    const std::string canonical = formatted(text);
    INFO(canonical);
    REQUIRE(grammar().accepts(canonical));
    const OneFile again(canonical);
    REQUIRE(again.module);
    REQUIRE(dump(*again.module) == dump(*parsed.module));
    REQUIRE(formatted(canonical) == canonical);
  }
  CHECK(longest > 1000);
  for (const std::string& name : grammar().order()) {
    INFO(name);
    if (!peg::Grammar::is_lexical(name) && name != "Module") CHECK(generator.used().count(name) == 1);
  }
}

TEST_CASE("grammar and parser agree on every program of the repository") {
  const auto texts = corpus();
  REQUIRE(texts.size() > 30);
  for (const CorpusText& text : texts) {
    INFO(text.origin);
    const OneFile parsed(text.text);
    INFO(parsed.diagnostics.render_text());
    if (!beyond_grammar(parsed)) CHECK(grammar().accepts(text.text) == parsed.module.has_value());
  }
}

TEST_CASE("grammar and parser agree on mutated programs") {
  std::mt19937 random(4711);
  const auto pick = [&](size_t count) { return std::uniform_int_distribution<size_t>(0, count - 1)(random); };
  std::vector<std::vector<peg::Token>> programs;
  std::vector<peg::Token> words;
  for (const CorpusText& text : corpus()) {
    const auto raw = grammar().raw_tokens(text.text);
    if (!raw || raw->empty() || raw->size() > 600) continue;
    programs.push_back(*raw);
    words.insert(words.end(), raw->begin(), raw->end());
  }
  peg::Generator generator(grammar(), 99);
  for (int i = 0; i < 150; ++i) {
    programs.push_back(*grammar().raw_tokens(generator.program()));
    if (programs.back().empty()) programs.pop_back();
  }
  int accepted = 0, total = rounds(6000);
  for (int i = 0; i < total; ++i) {
    std::vector<peg::Token> tokens = programs[pick(programs.size())];
    for (size_t change = 0, changes = 1 + pick(2); change < changes && !tokens.empty(); ++change) {
      const size_t at = pick(tokens.size());
      const auto position = tokens.begin() + static_cast<std::ptrdiff_t>(at);
      switch (pick(5)) {
        case 0:
          tokens.erase(position);
          break;
        case 1:
          tokens.insert(position, words[pick(words.size())]);
          break;
        case 2:
          *position = words[pick(words.size())];
          break;
        case 3:
          std::swap(*position, tokens[pick(tokens.size())]);
          break;
        default:
          tokens.insert(position, tokens[pick(tokens.size())]);
      }
    }
    std::string text;
    for (const peg::Token& token : tokens) text += token.text + (token.kind == "NEWLINE" ? "" : " ");
    const OneFile parsed(text);
    const bool by_grammar = grammar().accepts(text);
    accepted += by_grammar;
    INFO(text << "\n--\n" << parsed.diagnostics.render_text());
    if (!beyond_grammar(parsed)) REQUIRE(parsed.module.has_value() == by_grammar);
    REQUIRE(parsed.module.has_value() == !parsed.diagnostics.has_errors());
  }
  // Otherwise the comparison would say little.
  CHECK(accepted > total / 20);
  CHECK(accepted < total * 19 / 20);
}
