// A text as the only file of a compilation, parsed and formatted.
#pragma once

#include <optional>
#include <string>

#include "dsl/diagnostics.h"
#include "dsl/format.h"
#include "dsl/parser.h"
#include "dsl/source.h"

namespace coda {

struct OneFile {
  explicit OneFile(std::string text, std::string path = "test.coda")
      : file(sources.add(std::move(path), std::move(text))), diagnostics(sources) {
    module = parse(file, sources, diagnostics);
  }
  OneFile(const OneFile&) = delete;
  OneFile& operator=(const OneFile&) = delete;

  SourceMap sources;
  FileId file;
  Diagnostics diagnostics;
  std::optional<ast::Module> module;
};

/// Empty if the text doesn't parse.
inline std::string formatted(const std::string& text) {
  SourceMap sources;
  Diagnostics diagnostics(sources);
  return format(sources.add("test.coda", text), sources, diagnostics).value_or("");
}

}  // namespace coda
