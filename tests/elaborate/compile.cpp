#include "compile.h"

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
  return result;
}

}  // namespace coda::test
