// codac explain: what a kernel is: its GEMM, what it loads and stores, its regions and statistics, and its cost; the
// plan of a block.
#include <cstdio>

#include "compiler/plan/plan.h"
#include "tools/codac/command.h"
#include "tools/codac/compile_options.h"
#include "tools/codac/report.h"

namespace coda {
namespace {

struct ExplainOptions {
  CompileOptions compile;
  std::string arch = "sm_90a";
};

int explain_block(const CompileOptions& options, const Bindings& sizes, Compilation& compilation) {
  Plan plan;
  const bool planned = plan_block(*compilation.program, {.sizes = sizes}, plan, *compilation.diagnostics);
  options.report(compilation);
  if (!planned) return kExitProgram;
  std::fputs(to_text(plan).c_str(), stdout);
  return kExitOk;
}

int explain(const ExplainOptions& options) {
  auto request = options.compile.request(options.arch, Stage::Elaborate);
  if (!request) return kExitUsage;
  Compilation elaborated = compile(*request);
  if (elaborated.program && elaborated.program->is_block) {
    return explain_block(options.compile, request->bindings, elaborated);
  }
  request->stage = Stage::Assemble;
  Compilation compilation = compile(*request);
  options.compile.report(compilation);
  if (!compilation.ok()) return kExitProgram;
  std::fputs(explain_kernel(*compilation.epilogue, request->bindings).c_str(), stdout);
  if (compilation.image) std::fputs(explain_code(*compilation.image).c_str(), stdout);
  if (!compilation.assembler_log.empty()) std::printf("  note        %s\n", compilation.assembler_log.c_str());
  return kExitOk;
}

}  // namespace

void add_explain(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand(
      "explain", "print what a kernel loads, stores and computes, or the kernels a block is planned into");
  auto options = std::make_shared<ExplainOptions>();
  options->compile.add_to(*command);
  command->add_option("--arch", options->arch, "what to compile for")->check(CLI::IsMember({"host", "sm_90a"}));
  command->callback([options, &action] { action = [options] { return explain(*options); }; });
}

}  // namespace coda
