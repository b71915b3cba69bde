// Text of a file to its syntax tree.
#pragma once

#include <optional>

#include "dsl/ast.h"
#include "dsl/diagnostics.h"
#include "dsl/source.h"

namespace coda {

/// Reports every error it finds; the tree is there only if there was none.
std::optional<ast::Module> parse(FileId file, const SourceMap& sources, Diagnostics& diagnostics);

}  // namespace coda
