#include "dsl/source.h"

#include <catch2/catch.hpp>

#include "dsl/utf8.h"

using namespace coda;

namespace {

std::pair<int, int> at(const SourceMap& sources, FileId file, uint32_t offset) {
  const Position position = sources.position(file, offset);
  return {position.line, position.column};
}

using Pair = std::pair<int, int>;

}  // namespace

TEST_CASE("an empty file has one empty line") {
  SourceMap sources;
  const FileId file = sources.add("empty", "");
  CHECK(at(sources, file, 0) == Pair(1, 1));
  CHECK(sources.line(file, 1).empty());
  CHECK(sources.line(file, 2).empty());
  CHECK(sources.line(file, 0).empty());
}

TEST_CASE("columns count code points, a tab as one, and lines end with LF or CRLF") {
  SourceMap sources;
  const FileId file = sources.add("text", "a\tb\r\n\xC3\xA4\xE2\x86\x92x\n\nend");
  CHECK(at(sources, file, 2) == Pair(1, 3));
  CHECK(at(sources, file, 5) == Pair(2, 1));
  CHECK(at(sources, file, 7) == Pair(2, 2));
  CHECK(at(sources, file, 10) == Pair(2, 3));
  CHECK(at(sources, file, 12) == Pair(3, 1));
  CHECK(at(sources, file, 13) == Pair(4, 1));
  CHECK(at(sources, file, 999) == Pair(4, 4));
  CHECK(sources.line(file, 1) == "a\tb");
  CHECK(sources.line(file, 2) == "\xC3\xA4\xE2\x86\x92x");
  CHECK(sources.line(file, 3).empty());
  CHECK(sources.line(file, 4) == "end");
}

TEST_CASE("a span gives its text, cut to the file, and covers another") {
  SourceMap sources;
  const FileId file = sources.add("text", "abcdef");
  CHECK(sources.text(Span{file, 1, 3}) == "bc");
  CHECK(sources.text(Span{file, 4, 99}) == "ef");
  CHECK(sources.text(Span{file, 9, 4}).empty());
  CHECK(sources.text(Span{}).empty());
  const Span both = cover({file, 3, 4}, {file, 1, 2});
  CHECK(both.begin == 1);
  CHECK(both.end == 4);
  CHECK(cover({}, {file, 1, 2}).begin == 1);
  CHECK(cover({file, 1, 2}, {}).end == 2);
}

TEST_CASE("files keep their own text and path") {
  SourceMap sources;
  const FileId a = sources.add("a.coda", "first"), b = sources.add("b.coda", "second");
  CHECK(sources.text(a) == "first");
  CHECK(sources.text(b) == "second");
  CHECK(sources.path(a) == "a.coda");
  CHECK(sources.path(b) == "b.coda");
}

TEST_CASE("invalid UTF-8 is found at its first byte") {
  CHECK_FALSE(first_invalid_utf8("plain \xC3\xA4 \xE2\x86\x92 \xF0\x9F\x98\x80"));
  CHECK(first_invalid_utf8("ab\x80") == 2);
  CHECK(first_invalid_utf8("\xC0\xAF") == 0);          // overlong
  CHECK(first_invalid_utf8("a\xE0\x80\x80") == 1);     // overlong
  CHECK(first_invalid_utf8("\xED\xA0\x80") == 0);      // surrogate
  CHECK(first_invalid_utf8("\xF4\x90\x80\x80") == 0);  // beyond U+10FFFF
  CHECK(first_invalid_utf8("\xF5\x80\x80\x80") == 0);
  CHECK(first_invalid_utf8("abc\xE2\x86") == 3);  // cut short
  CHECK(first_invalid_utf8("\xFF") == 0);
}
