// codac explain: what a kernel is: its GEMM, what it loads and stores, its regions and statistics, and its cost; the
// plan of a block.
#include <cstdio>

#include "compiler/plan/report.h"
#include "tools/codac/command.h"
#include "tools/codac/compile_options.h"
#include "tools/codac/report.h"

namespace coda {
namespace {

struct ExplainOptions {
  CompileOptions compile;
  std::string arch = "sm_90a";
  std::string format = "text";
  std::string without_law;
  bool verify = false;
};

/// The plan, made again for the report: a law may be left out, and each pass be checked.
int explain_plan(const ExplainOptions& options, const Bindings& sizes, Compilation& compilation) {
  const PlanOptions wanted{.sizes = sizes, .drop_law = options.without_law, .verify = options.verify};
  Plan plan;
  const bool planned = plan_block(*compilation.program, wanted, plan, *compilation.diagnostics);
  options.compile.report(compilation);
  if (!planned) return options.compile.exit_code(compilation, sizes);
  const PlanContext context{*compilation.sources, wanted};
  const std::string report = options.format == "json"   ? to_json(plan, context)
                             : options.format == "html" ? to_html(plan, context)
                                                        : to_text(plan, context);
  std::fputs(report.c_str(), stdout);
  return kExitOk;
}

/// The plan, and how each of its kernels was compiled, as far as it was.
void explain_block(const Bindings& sizes, const Compilation& compilation) {
  std::fputs(to_text(*compilation.plan, {*compilation.sources, {.sizes = sizes}}).c_str(), stdout);
  for (size_t k = 0; k < compilation.kernels.size(); ++k) {
    const Compilation& kernel = compilation.kernels[k];
    if (kernel.image) std::fputs(explain_code("K" + std::to_string(k), *kernel.image).c_str(), stdout);
  }
}

/// The option that only a block's plan has an answer to; "" if none is given.
std::string plan_option(const ExplainOptions& options) {
  if (options.format != "text") return "--format " + options.format;
  if (!options.without_law.empty()) return "--without-law";
  return options.verify ? "--verify" : "";
}

int explain(const ExplainOptions& options) {
  auto request = options.compile.request(options.arch, Stage::Assemble);
  if (!request) return kExitUsage;
  options.compile.say_unused(options.arch);
  if (const std::string needs_block = plan_option(options); !needs_block.empty()) {
    request->stage = Stage::Elaborate;
    Compilation elaborated = compile(*request);
    if (options.verify && elaborated.ok()) {  // interpreted at small sizes: those given are for the plan's costs alone
      CompileRequest open = *request;
      open.bindings.clear();
      Compilation unbound = compile(open);
      if (unbound.ok()) elaborated = std::move(unbound);
    }
    if (elaborated.program && elaborated.program->is_block) return explain_plan(options, request->bindings, elaborated);
    if (elaborated.program) {
      return fail(kExitUsage,
                  needs_block + " is for the plan of a block, and " + elaborated.program->name + " is a kernel");
    }
  }
  Compilation compilation = compile(*request);
  options.compile.report(compilation);
  if (compilation.plan) explain_block(request->bindings, compilation);
  if (!compilation.ok()) return options.compile.exit_code(compilation, request->bindings);
  if (compilation.plan) return kExitOk;
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
  command->add_option("--format", options->format, "of a block's plan: text, json, or one html page with a picture")
      ->check(CLI::IsMember({"text", "json", "html"}));
  command->add_option("--without-law", options->without_law, "plan a block without this law, to see what it is worth");
  command->add_flag("--verify", options->verify, "interpret the block before and after every law, at small sizes");
  command->callback([options, &action] { action = [options] { return explain(*options); }; });
}

}  // namespace coda
