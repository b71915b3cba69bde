// `codac fmt`: a file in canonical layout. Comments, the order of items and single blank lines are kept; line breaks,
// spaces and needless parentheses are not.
#pragma once

#include <optional>
#include <string>

#include "dsl/ast.h"
#include "dsl/diagnostics.h"
#include "dsl/source.h"

namespace coda {

/// Nothing, and errors reported, if the file doesn't parse. The result parses to the same tree and formats to itself.
std::optional<std::string> format(FileId file, const SourceMap& sources, Diagnostics& diagnostics);

/// One expression on one line, without comments.
std::string format(const ast::Expr& expression);

}  // namespace coda
