#include "compile.h"

#include <catch2/catch.hpp>

#include "compiler/ir/text.h"
#include "compiler/ir/verify.h"
#include "dsl/parser.h"

namespace coda::test {

Compiled compile(const std::string& text, const ElaborateRequest& request, const std::string& path,
                 const ImportReader& reader) {
  SourceMap sources;
  Diagnostics diagnostics(sources);
  const FileId file = sources.add(path, text);
  const auto module = parse(file, sources, diagnostics);
  Compiled result;
  if (module) result.program = elaborate(*module, file, sources, request, diagnostics, reader);
  result.diagnostics = diagnostics.render_text();
  if (result.program) {
    CHECK(verify(*result.program) == std::vector<std::string>{});
    const std::string written = to_text(*result.program);
    auto read = program_from_text(written);
    INFO(written << (read.ok() ? "" : read.status().message()));
    CHECK((read.ok() && to_text(read.value()) == written));
  }
  return result;
}

}  // namespace coda::test
