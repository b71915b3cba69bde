// What the subcommands share: exit codes, and how each is added to the command line.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

namespace coda {

/// Documented in docs/codac.md.
enum ExitCode : int {
  kExitOk = 0,
  kExitProgram = 1,      ///< the .coda program has errors
  kExitUsage = 2,        ///< the command line or an input file does not fit
  kExitWrong = 3,        ///< --verify found a wrong result, fmt --check an unformatted file
  kExitEnvironment = 4,  ///< a device, driver, assembler or file is missing or failed
};

/// Set to the chosen subcommand's action; its result is the exit code.
using Action = std::function<int()>;

/// "codac 0.1.0 (LLVM 22.1.8)"
std::string version_text();

// One a file of this folder.
void add_check(CLI::App& app, Action& action);
void add_fmt(CLI::App& app, Action& action);
void add_build(CLI::App& app, Action& action);
void add_explain(CLI::App& app, Action& action);
void add_run(CLI::App& app, Action& action);
void add_doctor(CLI::App& app, Action& action);
void add_cache(CLI::App& app, Action& action);
void add_tune(CLI::App& app, Action& action);
void add_grad(CLI::App& app, Action& action);
void add_doc_ops(CLI::App& app, Action& action);

}  // namespace coda
