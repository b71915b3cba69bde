// The options that every compiling subcommand has, and what is printed about a compilation.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "runtime/jit/jit.h"
#include "tools/codac/output_paths.h"

namespace coda {

struct CompileOptions {
  std::string file, kernel;
  std::vector<std::string> dims, types, schedule;
  bool time_passes = false, json = false;

  /// FILE [KERNEL] and the program options.
  void add_to(CLI::App& command);
  /// --dim --type --schedule --time-passes
  void add_program_options(CLI::App& command);
  /// --json, for commands that print nothing else on stdout.
  void add_json(CLI::App& command);
  /// Nothing, after a message on stderr, if an option cannot be read.
  std::optional<CompileRequest> request(const std::string& target, Stage stage) const;
  /// Diagnostics (stderr; with --json as JSON on stdout, unless the caller prints it) and times.
  void report(const Compilation& compilation, bool print_json = true) const;
  /// Of a compilation with errors, for dimensions `bound`: kExitEnvironment if the program could not be read,
  /// kExitUsage if only what the command line asks for does not fit it, else kExitProgram.
  int exit_code(const Compilation& compilation, const Bindings& bound) const;
  /// Says, where code for `target` is made, which of the options mean nothing there.
  void say_unused(const std::string& target) const;

 private:
  void print_times(const Compilation& compilation) const;
};

/// Splits "name=value"; nothing if there is no name or no value.
std::optional<std::pair<std::string, std::string>> split_assignment(const std::string& text);
/// Prints "codac: ..." to stderr and returns `code`.
int fail(int code, const std::string& message);
/// The exit code by what failed: kExitEnvironment if the system refused or something is missing, else kExitUsage.
int fail(const Status& status);

}  // namespace coda
