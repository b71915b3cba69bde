// The state of one elaboration, and the names that a body sees.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "compiler/elaborate/dim_table.h"
#include "compiler/elaborate/modules.h"
#include "compiler/elaborate/value.h"
#include "compiler/ir/graph.h"
#include "dsl/diagnostics.h"

namespace coda {

/// A name of a body: an argument, a `let`, a parameter or an output of a routine.
struct Variable {
  enum class Role : uint8_t { Local, Parameter, InOut, Output };
  Role role = Role::Local;
  int param = -1;   ///< index into Program::params; -1 for locals
  bool set = true;  ///< an output has a value once it is assigned
  bool used = false;
  Value value;
  Span span;      ///< where it is declared
  Span assigned;  ///< the statement that assigns an output or inout; invalid before
};

/// The names of one body. Bodies do not nest: a `fn` sees its arguments and its own lets only.
struct Scope {
  const SourceModule* module = nullptr;
  bool is_routine = false;   ///< dimensions and type parameters of the routine are visible
  bool is_constant = false;  ///< a default or a setting: nothing is visible but functions
  std::map<std::string, Variable> variables;
};

struct Context {
  Context(const ModuleSet& modules, const SourceMap& sources, Diagnostics& diagnostics)
      : modules(modules), sources(sources), diagnostics(diagnostics) {}

  const ModuleSet& modules;
  const SourceMap& sources;
  Diagnostics& diagnostics;
  Program program;
  DimTable dims;
  std::map<std::string, DType> types;  ///< type parameters
  bool declaring = false;              ///< an unknown name in an extent becomes a symbol (signatures, facts)
  bool signature_failed = false;       ///< a parameter could not be read
  bool failed = false;                 ///< an error was reported
  bool too_deep = false;               ///< the nesting was reported: once is enough

  /// The calls being inlined, outermost first.
  struct Frame {
    const ast::Function* function;
    const SourceModule* caller;
    const SourceModule* callee;
    Span call;
  };
  std::vector<Frame> frames;
  std::set<const ast::Function*> called;  ///< functions that were inlined
  int inlined = 0;                        ///< calls so far: inlining can grow exponentially
  int depth = 0;                          ///< nesting of expressions, through inlined bodies

  Graph& graph() { return program.graph; }

  /// Reports at `span`; an error inside the prelude is shown at the user's call, and calls on the way become notes.
  Diagnostic& report(DiagId id, Span span, std::vector<std::string> arguments = {});
  Value fail(DiagId id, Span span, std::vector<std::string> arguments = {});
  /// The text of an expression, without parentheses around it, if it is short enough to be quoted; else `otherwise`.
  std::string quoted(Span span, const std::string& otherwise) const;
  /// The element type of this name: a type of the language or a type parameter.
  std::optional<DType> find_type(const Scope& scope, const std::string& name) const;

  /// Whether a node reads the memory of an inout parameter.
  bool reads_inout(NodeId node);

 private:
  std::vector<char> reads_inout_;  // by node, as far as asked
};

}  // namespace coda
