// Syntax tree to tensor IR: names, types, symbolic shapes, inlining. The result is the program's source semantics; no
// rewriting happens here.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/elaborate/modules.h"
#include "compiler/grad/gradient.h"
#include "compiler/ir/graph.h"
#include "dsl/ast.h"
#include "dsl/diagnostics.h"
#include "dsl/source.h"

namespace coda {

struct ElaborateRequest {
  std::string routine;                              ///< empty: the only one of the file
  Bindings bound;                                   ///< values of symbols known at compile
  std::map<std::string, std::string> type_choices;  ///< type parameter to type name; the first choice otherwise
  bool ignore_unknown_symbols = false;              ///< for one set of values given to several routines
};

/// Elaborates one routine of `module`, the syntax of `file`. Imported files come from `reader` (none: imports are
/// errors) and are added to `sources`. Nothing is returned if an error was reported, here or before.
std::optional<Program> elaborate(const ast::Module& module, FileId file, SourceMap& sources,
                                 const ElaborateRequest& request, Diagnostics& diagnostics,
                                 const ImportReader& reader = {});

/// Both directions of the routine that the request names, as a `grad` of the file asks for it; with respect to every
/// real tensor that it only reads if none does.
std::optional<Gradient> elaborate_gradient(const ast::Module& module, FileId file, SourceMap& sources,
                                           const ElaborateRequest& request, Diagnostics& diagnostics,
                                           const ImportReader& reader = {});

struct RoutineInfo {
  std::string name, doc;
  bool is_block = false;
  Span span;
};
/// The kernels and blocks of a file, in source order, then those that its `grad` declarations make.
std::vector<RoutineInfo> list_routines(const ast::Module& module);

/// Elaborates every routine for its diagnostics, each choice of type parameters that differs in one from the first;
/// and the names of functions that none calls. `bound` may give values of symbols. True if there is no error.
bool check_module(const ast::Module& module, FileId file, SourceMap& sources, const Bindings& bound,
                  Diagnostics& diagnostics, const ImportReader& reader = {});

/// Reads files from disk.
ImportReader disk_reader();

}  // namespace coda
