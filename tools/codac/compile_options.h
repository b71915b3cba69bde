// The options that every compiling subcommand has, and what is printed about a compilation.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

#include "runtime/jit/jit.h"

namespace coda {

struct CompileOptions {
  std::string file, kernel;
  std::vector<std::string> dims, types, schedule;
  bool time_passes = false, json = false;

  /// FILE [KERNEL] and the program options.
  void add_to(CLI::App& command);
  /// --dim --type --schedule --time-passes --json
  void add_program_options(CLI::App& command);
  /// Nothing, after a message on stderr, if an option cannot be read.
  std::optional<CompileRequest> request(const std::string& target, Stage stage) const;
  /// Diagnostics (stderr; JSON to stdout if asked) and times.
  void report(const Compilation& compilation) const;
};

/// Splits "name=value"; nothing if there is no name or no value.
std::optional<std::pair<std::string, std::string>> split_assignment(const std::string& text);
/// Prints "codac: ..." to stderr and returns `code`.
int fail(int code, const std::string& message);

}  // namespace coda
