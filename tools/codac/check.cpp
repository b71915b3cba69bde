// codac check: names, types and shapes of every routine of the files; with --arch also code for each.
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "tools/codac/arguments.h"
#include "tools/codac/command.h"
#include "tools/codac/compile_options.h"

namespace coda {
namespace {

struct CheckOptions {
  CompileOptions compile;
  std::vector<std::string> files, archs;
};

class Check {
 public:
  explicit Check(CheckOptions& options) : options_(options) {}

  int run() {
    for (const std::string& file : options_.files) {
      options_.compile.file = file;
      auto request = options_.compile.request("host", Stage::Check);
      if (!request) return kExitUsage;
      const Compilation compilation = compile(*request);
      take(compilation, request->bindings);
      if (!compilation.ok()) continue;
      const bool made = options_.archs.empty() || code(*request, compilation.routines);
      if (made && !options_.compile.json) summary(file, compilation.routines.size());
    }
    if (options_.compile.json) std::printf("%s\n", listed_.dump(2).c_str());
    return code_;
  }

 private:
  void take(const Compilation& compilation, const Bindings& bound) {
    const std::string json = options_.compile.json ? compilation.diagnostics->render_json() : "[]";
    for (auto& diagnostic : nlohmann::json::parse(json)) listed_.push_back(std::move(diagnostic));
    options_.compile.report(compilation, /*print_json=*/false);
    if (!compilation.ok() && code_ != kExitProgram) code_ = options_.compile.exit_code(compilation, bound);
  }

  /// Code of each routine for each of the targets; false if one has none.
  bool code(const CompileRequest& given, const std::vector<std::string>& routines) {
    bool made = true;
    for (const std::string& arch : options_.archs) {
      for (const std::string& routine : routines) {
        CompileRequest request = given;
        request.target = arch;
        request.routine = routine;
        request.stage = Stage::Elaborate;
        request.bindings.clear();
        const Compilation symbols = compile(request);
        // Values are given for all routines of the files: each takes those of its own symbols.
        const auto own = symbols.program ? missing_symbols(symbols.program->params, {}) : std::vector<std::string>{};
        for (const auto& [name, value] : given.bindings) {
          if (std::find(own.begin(), own.end(), name) != own.end()) request.bindings[name] = value;
        }
        request.stage = Stage::Code;
        const Compilation compilation = compile(request);
        if (!compilation.ok()) take(compilation, request.bindings);
        made = made && compilation.ok();
      }
    }
    return made;
  }

  void summary(const std::string& file, size_t routines) const {
    std::string targets;
    for (const std::string& arch : options_.archs) targets += (targets.empty() ? "" : " and ") + arch;
    std::printf("%s: %zu %s: names, types and shapes are right%s\n", file.c_str(), routines,
                routines == 1 ? "routine" : "routines",
                targets.empty() ? "; whether there is code for a machine, --arch says"
                                : (", and there is code for " + targets).c_str());
  }

  CheckOptions& options_;
  int code_ = kExitOk;
  nlohmann::json listed_ = nlohmann::json::array();  // one document for all files
};

}  // namespace

void add_check(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("check", "report the errors of .coda programs");
  auto options = std::make_shared<CheckOptions>();
  command->add_option("FILES", options->files, "the .coda programs")->required();
  command->add_option("--arch", options->archs, "also compile every kernel and block for these, as in sm_90a,host")
      ->delimiter(',')
      ->check(CLI::IsMember({"host", "sm_90a"}));
  options->compile.add_program_options(*command);
  options->compile.add_json(*command);
  command->callback([options, &action] { action = [options] { return Check(*options).run(); }; });
}

}  // namespace coda
