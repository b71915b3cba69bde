// codac check: names, types and shapes of every routine of the files.
#include <cstdio>
#include <nlohmann/json.hpp>

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
  auto listed = nlohmann::json::array();  // one document for all files
  for (const std::string& file : options.files) {
    options.compile.file = file;
    auto request = options.compile.request("host", Stage::Check);
    if (!request) return kExitUsage;
    Compilation compilation = compile(*request);
    const std::string json = options.compile.json ? compilation.diagnostics->render_json() : "[]";
    for (auto& diagnostic : nlohmann::json::parse(json)) listed.push_back(std::move(diagnostic));
    options.compile.report(compilation, /*print_json=*/false);
    if (!compilation.ok() && code != kExitProgram) code = options.compile.exit_code(compilation, request->bindings);
  }
  if (options.compile.json) std::printf("%s\n", listed.dump(2).c_str());
  return code;
}

}  // namespace

void add_check(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("check", "report the errors of .coda programs");
  auto options = std::make_shared<CheckOptions>();
  command->add_option("FILES", options->files, "the .coda programs")->required();
  options->compile.add_program_options(*command);
  options->compile.add_json(*command);
  command->callback([options, &action] { action = [options] { return check(*options); }; });
}

}  // namespace coda
