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
#include "dsl/diagnostics.h"
#include "runtime/format/kernel_image.h"

namespace coda {

/// What can be printed on the way, in the order of the pipeline.
enum class Dump : uint8_t { Ast, Ir, Epilogue, Llvm, Ptx, Cubin, Sass };
struct DumpInfo {
  Dump dump;
  std::string_view name, doc;
};
std::span<const DumpInfo> dump_table();
std::optional<Dump> dump_from_name(std::string_view name);

/// How far to go.
enum class Stage : uint8_t {
  Check,    ///< syntax, names, types, shapes of every routine of the file
  Lower,    ///< one routine to epilogue IR
  Code,     ///< host object or PTX
  Assemble  ///< for a GPU: a cubin too, where an assembler is found
};

struct CompileRequest {
  std::string path;                        ///< names the text in messages; imports are relative to it
  std::optional<std::string> text;         ///< the program; read from `path` if absent
  std::string routine;                     ///< empty: the only one of the file
  Bindings bindings;                       ///< values of dimension symbols
  std::map<std::string, DType> types;      ///< choices for type parameters
  std::map<std::string, double> schedule;  ///< overrides of the `schedule` clause
  std::string target = "host";             ///< or "sm_90a"
  Stage stage = Stage::Assemble;
  std::set<Dump> dumps;
};

struct StepTime {
  std::string name;
  double milliseconds = 0;
};

/// What came of it. Parts that were not reached are absent; `diagnostics` says why.
struct Compilation {
  std::unique_ptr<SourceMap> sources = std::make_unique<SourceMap>();
  std::unique_ptr<Diagnostics> diagnostics = std::make_unique<Diagnostics>(*sources);
  std::vector<std::string> routines;  ///< of the file, in order
  std::unique_ptr<Program> program;
  std::unique_ptr<EpilogueProgram> epilogue;
  std::optional<KernelImage> image;
  std::map<Dump, std::string> dumps;
  std::string assembler_log;
  std::vector<StepTime> times;

  bool ok() const { return !diagnostics->has_errors(); }
};

Compilation compile(const CompileRequest& request);

}  // namespace coda
