// libFuzzer target: any text is either refused with a diagnostic or parsed, and then formatting keeps its tree and is
// its own fixed point. Build with -DCODA_FUZZ=ON and clang; run with
//   parse_fuzz -dict=tests/fuzz/coda.dict -max_total_time=600 CORPUS tests/dsl/golden examples dsl/prelude
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "dsl/diagnostics.h"
#include "dsl/dump.h"
#include "dsl/format.h"
#include "dsl/parser.h"
#include "dsl/source.h"

namespace {

using namespace coda;

void require(bool holds, const char* what, const std::string& text) {
  if (holds) return;
  std::fprintf(stderr, "violated: %s\n%s\n", what, text.c_str());
  std::abort();
}

size_t comment_marks(const std::string& text) {
  size_t count = 0;
  for (size_t at = text.find("//"); at != std::string::npos; at = text.find("//", at + 2)) ++count;
  return count;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  SourceMap sources;
  Diagnostics diagnostics(sources);
  const auto module = parse(sources.add("first", text), sources, diagnostics);
  require(module.has_value() != diagnostics.has_errors(), "a tree, or an error", text);
  if (!module) {
    require(!diagnostics.render_text().empty(), "an error is shown", text);
    require(!diagnostics.render_json().empty(), "an error is shown as JSON", text);
    return 0;
  }
  const auto once = format(sources.add("second", text), sources, diagnostics);
  require(once.has_value(), "what parses can be formatted", text);
  const FileId formatted = sources.add("third", *once);
  const auto again = parse(formatted, sources, diagnostics);
  require(again.has_value(), "what is formatted parses", *once);
  require(dump(*module) == dump(*again), "formatting keeps the tree", text + "\n---\n" + *once);
  const auto twice = format(formatted, sources, diagnostics);
  require(twice == once, "formatting is its own fixed point", *once + "\n---\n" + twice.value_or(""));
  require(comment_marks(text) == comment_marks(*once), "every comment is kept", text + "\n---\n" + *once);
  return 0;
}
