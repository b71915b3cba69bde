#include "dsl/diagnostics.h"

#include <catch2/catch.hpp>
#include <cctype>
#include <nlohmann/json.hpp>
#include <set>

using namespace coda;

TEST_CASE("diagnostics are rendered in the order of the text, with notes and the way out") {
  SourceMap sources;
  const FileId file = sources.add("a.coda", "one\n\ttwo three\n");
  Diagnostics diagnostics(sources);
  diagnostics.report(DiagId::E0105, {file, 5, 8}).notes.push_back({{file, 0, 3}, "this is the reason"});
  diagnostics.report(DiagId::E0101, {file, 0, 3}, {"?"});
  CHECK(diagnostics.has_errors());
  CHECK(diagnostics.render_text() ==
        "a.coda:1:1: error[E0101]: unexpected character `?`\n"
        "  1 | one\n"
        "    | ^~~\n"
        "  help: remove it\n"
        "a.coda:2:2: error[E0105]: `;` separates nothing\n"
        "  2 | \ttwo three\n"
        "    | \t^~~\n"
        "a.coda:1:1: note: this is the reason\n"
        "  1 | one\n"
        "    | ^~~\n"
        "  help: end the statement with the line\n");
}

TEST_CASE("a repeated error is dropped, another one at the same place is not") {
  SourceMap sources;
  const FileId file = sources.add("a.coda", "text");
  Diagnostics diagnostics(sources);
  diagnostics.report(DiagId::E0101, {file, 0, 1}, {"t"});
  diagnostics.report(DiagId::E0101, {file, 0, 1}, {"t"}).notes.push_back({{}, "lost"});
  diagnostics.report(DiagId::E0105, {file, 0, 1});
  REQUIRE(diagnostics.all().size() == 2);
  CHECK(diagnostics.all()[0].notes.empty());
}

TEST_CASE("a span over several lines is marked to the end of its first line; no span gives no excerpt") {
  SourceMap sources;
  const FileId file = sources.add("a.coda", "abc\ndef\n");
  Diagnostics diagnostics(sources);
  diagnostics.report(DiagId::E0105, {file, 1, 6});
  CHECK(diagnostics.render_text().find("    | \x20^~\n") != std::string::npos);
  Diagnostics placeless(sources);
  placeless.report(DiagId::E0105, {});
  CHECK(placeless.render_text() == "error[E0105]: `;` separates nothing\n  help: end the statement with the line\n");
}

TEST_CASE("arguments fill the message and the way out, whatever they contain") {
  SourceMap sources;
  const FileId file = sources.add("a.coda", "x");
  Diagnostics diagnostics(sources);
  const Diagnostic& filled = diagnostics.report(DiagId::E0111, {file, 0, 1}, {"{1}", "}"});
  CHECK(filled.message == "`{1}` is not closed");
  CHECK(filled.way_out == "close it with `}`");
  const Diagnostic& without = diagnostics.report(DiagId::E0101, {file, 0, 1});
  CHECK(without.message == "unexpected character `{0}`");
}

TEST_CASE("JSON has the same content, and survives a source that isn't UTF-8") {
  SourceMap sources;
  const FileId file = sources.add("a\xFF.coda", "ab\ncd");
  Diagnostics diagnostics(sources);
  diagnostics.report(DiagId::E0101, {file, 3, 5}, {"\xFF"}).notes.push_back({{}, "built in"});
  const auto json = nlohmann::json::parse(diagnostics.render_json());
  REQUIRE(json.size() == 1);
  CHECK(json[0]["id"] == "E0101");
  CHECK(json[0]["severity"] == "error");
  CHECK(json[0]["way_out"] == "remove it");
  CHECK(json[0]["range"]["begin"]["line"] == 2);
  CHECK(json[0]["range"]["end"]["column"] == 3);
  CHECK(json[0]["notes"][0]["text"] == "built in");
  CHECK(json[0]["notes"][0]["range"].is_null());
}

TEST_CASE("a very long line is shown around the caret only") {
  SourceMap sources;
  const FileId file = sources.add("a.coda", std::string(5000, 'x') + "!" + std::string(5000, 'y'));
  Diagnostics diagnostics(sources);
  diagnostics.report(DiagId::E0105, {file, 5000, 5001});
  const std::string text = diagnostics.render_text();
  CHECK(text.size() < 600);
  CHECK(text.find("x!y") != std::string::npos);
}

TEST_CASE("the table is unique, in order and in one style") {
  std::set<std::string_view> names;
  for (const DiagInfo& info : diagnostic_table()) {
    INFO(info.name << ": " << info.message << " / " << info.way_out);
    CHECK(names.insert(info.name).second);
    CHECK(name_of(info.id) == info.name);
    for (const std::string_view text : {info.message, info.way_out}) {
      CHECK_FALSE(text.ends_with('.'));
      // An abbreviation such as LLVM may stand first, a sentence's capital may not.
      const auto is = [&](size_t i, int (*kind)(int)) {
        return i < text.size() && kind(static_cast<unsigned char>(text[i])) != 0;
      };
      CHECK_FALSE((is(0, std::isupper) && !is(1, std::isupper)));
    }
    CHECK_FALSE(info.message.empty());
  }
}
