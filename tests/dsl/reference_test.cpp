// The language reference: its programs parse, and its lists are those of the lexer.
#include <catch2/catch.hpp>

#include "tests/dsl/corpus.h"
#include "tests/dsl/one_file.h"
#include "tests/dsl/peg.h"
#include "tests/source_root.h"

using namespace coda;

TEST_CASE("every program of the language reference parses") {
  const auto blocks = fenced_blocks(source_root() + "/grammar/README.md");
  REQUIRE(blocks.size() >= 18);
  for (const CorpusText& block : blocks) {
    INFO(block.origin << "\n" << block.text);
    const OneFile parsed(block.text);
    INFO(parsed.diagnostics.render_text());
    REQUIRE(parsed.module);
    CHECK_FALSE(formatted(block.text).empty());
  }
}

TEST_CASE("the language reference names every keyword") {
  const std::string page = read_file(source_root() + "/grammar/README.md");
  std::string error;
  const auto grammar = peg::Grammar::read(read_file(source_root() + "/grammar/coda.peg"), error);
  REQUIRE(grammar);
  const size_t begin = page.find("keywords are `");
  REQUIRE(begin != std::string::npos);
  std::string list = page.substr(begin + 14, page.find('`', begin + 14) - begin - 14);
  for (char& c : list) c = c == '\n' ? ' ' : c;
  std::set<std::string> named;
  for (size_t at = 0; at < list.size();) {
    const size_t end = std::min(list.find(' ', at), list.size());
    if (end > at) named.insert(list.substr(at, end - at));
    at = end + 1;
  }
  const peg::Node& keyword = grammar->production("KEYWORD");
  std::set<std::string> expected;
  for (const peg::Node& choice : keyword.parts.at(0).parts) expected.insert(choice.text);
  CHECK(named == expected);
}
