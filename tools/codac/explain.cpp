// codac explain: what a kernel is: its GEMM, what it loads and stores, its regions and statistics, and its cost; the
// plan of a block.
#include <cstdio>

#include "tools/codac/command.h"
#include "tools/codac/compile_options.h"
#include "tools/codac/report.h"

namespace coda {
namespace {

struct ExplainOptions {
  CompileOptions compile;
  std::string arch = "sm_90a";
};

/// The plan, and how each of its kernels was compiled.
int explain_block(const Compilation& compilation) {
  std::fputs(to_text(*compilation.plan).c_str(), stdout);
  for (size_t k = 0; k < compilation.kernels.size(); ++k) {
    const Compilation& kernel = compilation.kernels[k];
    if (kernel.image) std::fputs(explain_code("K" + std::to_string(k), *kernel.image).c_str(), stdout);
  }
  return kExitOk;
}

int explain(const ExplainOptions& options) {
  auto request = options.compile.request(options.arch, Stage::Assemble);
  if (!request) return kExitUsage;
  Compilation compilation = compile(*request);
  options.compile.report(compilation);
  if (compilation.plan) return explain_block(compilation);
  if (!compilation.ok()) return kExitProgram;
  std::fputs(explain_kernel(*compilation.epilogue, request->bindings).c_str(), stdout);
  if (compilation.image) std::fputs(explain_code("code", *compilation.image).c_str(), stdout);
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
