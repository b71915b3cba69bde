// From the text of a program to code that can be launched, in one call: joins the front end, the compiler and the
// runtime. Free of LLVM, so that programs which embed the compiler need none of its headers.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compiler/epilogue/epilogue.h"
#include "compiler/plan/plan.h"
#include "dsl/diagnostics.h"
#include "runtime/format/image.h"
#include "runtime/jit/step.h"

namespace coda {

/// How far to go.
enum class Stage : uint8_t {
  Check,      ///< syntax, names, types and shapes of every routine of the file
  Elaborate,  ///< one routine to tensor IR
  Lower,      ///< and to epilogue IR; a block of several kernels is planned first
  Code,       ///< and to a host object or PTX
  Assemble    ///< and, for a GPU, to a cubin where an assembler is found
};

/// What can be printed on the way, in the order of the pipeline.
enum class Dump : uint8_t { Ast, Ir, Epilogue, Llvm, Ptx, Cubin, Sass };
struct DumpInfo {
  Dump dump;
  std::string_view name;
  Stage stage;  ///< where it appears
};
const DumpInfo& info(Dump dump);
std::optional<Dump> dump_from_name(std::string_view name);
/// "ast, ir, ..."
std::string dump_names();

struct CompileRequest {
  std::string path;                 ///< names the text in messages; imports are relative to it
  std::optional<std::string> text;  ///< the program; read from `path` if absent
  std::string routine;              ///< empty: the only one of the file
  /// Values of dimension symbols. Compiled in are only those that the kernel's structure needs (head sizes, groups). A
  /// block's plan is the best for these; symbols without a value count as 4096 there.
  Bindings bindings;
  std::map<std::string, std::string> types;  ///< choices for type parameters
  std::map<std::string, double> schedule;    ///< overrides of the `schedule` clause
  std::string schedule_name;                 ///< a measured schedule by its name; empty: the best known for the sizes
  std::string target = "host";               ///< or "sm_90a"
  Stage stage = Stage::Assemble;
  std::set<Dump> dumps;
};

/// What came of it. Parts that were not reached are absent; `diagnostics` says why.
struct Compilation {
  std::unique_ptr<SourceMap> sources = std::make_unique<SourceMap>();
  std::unique_ptr<Diagnostics> diagnostics = std::make_unique<Diagnostics>(*sources);
  std::vector<std::string> routines;  ///< of the file, in order
  std::unique_ptr<Program> program;
  std::unique_ptr<EpilogueProgram> epilogue;  ///< of a kernel
  std::optional<KernelImage> image;           ///< of a kernel
  std::unique_ptr<Plan> plan;                 ///< of a block of several kernels
  std::vector<Compilation> kernels;           ///< of the plan, in order
  std::optional<PlanImage> plan_image;
  std::map<Dump, std::string> dumps;
  std::string assembler_log;
  std::vector<StepTime> times;

  bool ok() const { return !diagnostics->has_errors(); }
  /// The image of either kind; nothing where none was made.
  std::optional<Image> take_image();
};

Compilation compile(const CompileRequest& request);

}  // namespace coda
