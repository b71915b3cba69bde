// Calls: casts, functions of the program and the prelude (inlined), words of the language, ops and reductions.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "compiler/elaborate/context.h"
#include "dsl/ast.h"

namespace coda {

struct CallSite {
  Context& context;
  Scope& scope;
  const ast::Call& call;
  Span span;

  const ast::Argument* keyword(std::string_view name) const;
  /// The keyword that is none of the word's own: `G = 32`, `V = t`.
  const ast::Argument* naming() const;
  std::vector<const ast::Argument*> positional() const;
};

/// A word of the language that is no elementwise op. The arguments' count and keywords are checked by the record.
struct Word {
  std::string_view name, usage;
  int least, most;           ///< positional arguments; most < 0: any number
  std::string_view options;  ///< keywords it knows, separated by spaces
  bool names_dims;           ///< other keywords name dimensions
  Value (*evaluate)(const CallSite&);
};

std::span<const Word> shape_words();
std::span<const Word> indexing_words();

Value evaluate_call(Context& context, Scope& scope, const ast::Call& call, Span span);
/// Is there a word, op or reduction of this name?
bool is_builtin(const std::string& name);
/// Can this name be called: a type, a function that `scope` sees, or something built in?
bool is_callable(const Context& context, const Scope& scope, const std::string& name);
void report_unknown_function(Context& context, const Scope& scope, const ast::Name& callee);

}  // namespace coda
