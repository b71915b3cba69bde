// The programs of grammar/README.md elaborate, as far as this version supports what they use.
#include <catch2/catch.hpp>

#include "compile.h"
#include "dsl/parser.h"
#include "tests/dsl/corpus.h"
#include "tests/source_root.h"

namespace coda::test {

TEST_CASE("programs of the language reference elaborate") {
  const auto blocks = fenced_blocks(source_root() + "/grammar/README.md");
  int supported = 0;
  for (const CorpusText& block : blocks) {
    SourceMap sources;
    Diagnostics diagnostics(sources);
    const FileId file = sources.add("page.coda", block.text);
    const auto module = parse(file, sources, diagnostics);
    REQUIRE(module);
    check_module(*module, file, sources, {}, diagnostics, reader_of({{"norms.coda", "fn unused(x) = x\n"}}));
    INFO(block.origin << "\n" << block.text << diagnostics.render_text());
    bool unsupported = false;
    for (const Diagnostic& diagnostic : diagnostics.all()) {
      CHECK((diagnostic.id == DiagId::E0299 || diagnostic.severity != Severity::Error));
      CHECK(diagnostic.severity != Severity::Warning);
      unsupported = unsupported || diagnostic.id == DiagId::E0299;
    }
    supported += !unsupported;
  }
  CHECK(supported >= 18);
}

}  // namespace coda::test
