// codac check: names, types and shapes of every routine of the files.
#include <cstdio>

#include "tools/codac/command.h"
#include "tools/codac/compile_options.h"

namespace coda {
namespace {

struct CheckOptions {
  CompileOptions compile;
  std::vector<std::string> files;
};

int check(CheckOptions& options) {
  int code = kExitOk;
  for (const std::string& file : options.files) {
    options.compile.file = file;
    auto request = options.compile.request("host", Stage::Check);
    if (!request) return kExitUsage;
    Compilation compilation = compile(*request);
    options.compile.report(compilation);
    if (!compilation.ok()) code = kExitProgram;
  }
  return code;
}

}  // namespace

void add_check(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("check", "report the errors of .coda programs");
  auto options = std::make_shared<CheckOptions>();
  command->add_option("FILES", options->files, "the .coda programs")->required();
  options->compile.add_program_options(*command);
  command->callback([options, &action] { action = [options] { return check(*options); }; });
}

}  // namespace coda
