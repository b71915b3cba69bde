// The files of one compilation: the module asked for, what it imports, and the prelude; and which functions each of
// them sees. A function's body sees what its own file sees, wherever it is called.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "coda/status.h"
#include "compiler/grad/gradient.h"
#include "dsl/ast.h"
#include "dsl/diagnostics.h"
#include "dsl/source.h"

namespace coda {

/// Gives the text of an imported file, or why it can't be read. Paths are relative to the importing file's folder,
/// already joined with it.
using ImportReader = std::function<Expected<std::string>(const std::string& path)>;

/// A block that a `grad` of the file makes.
struct DerivedRoutine {
  const ast::Grad* grad = nullptr;
  const ast::Routine* source = nullptr;
  Direction direction = Direction::Forward;
};

struct SourceModule {
  FileId file = -1;
  bool is_prelude = false;
  const ast::Module* syntax = nullptr;
  std::unique_ptr<ast::Module> owned;  ///< null for the module asked for
  std::map<std::string, const ast::Function*> functions;
  std::map<std::string, const ast::Routine*> routines;
  std::map<std::string, DerivedRoutine> derived;  ///< by name: f_fwd, f_bwd, f_grad
  std::vector<const SourceModule*> imports;
};

struct FunctionRef {
  const ast::Function* function = nullptr;
  const SourceModule* module = nullptr;
};

class ModuleSet {
 public:
  /// Loads everything that `main` needs; what is wrong is reported, and the rest can be used.
  ModuleSet(const ast::Module& main, FileId file, SourceMap& sources, const ImportReader& reader,
            Diagnostics& diagnostics);

  const SourceModule& main() const { return *modules_.front(); }
  /// A file's own functions come first, then those it imports, then the prelude's.
  std::optional<FunctionRef> find_function(const SourceModule& from, const std::string& name) const;
  std::vector<std::string> visible_functions(const SourceModule& from) const;

 private:
  std::unique_ptr<ast::Module> parsed(FileId file);
  void collect(SourceModule& module);
  void collect_gradients(SourceModule& module, std::map<std::string, Span>& defined);
  void load_imports(SourceModule& module, const ImportReader& reader);

  SourceMap& sources_;
  Diagnostics& diagnostics_;
  std::vector<std::unique_ptr<SourceModule>> modules_;  // main first
  std::map<std::string, SourceModule*> by_path_;
  std::vector<const SourceModule*> prelude_;
};

}  // namespace coda
