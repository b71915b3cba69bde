// codac grad: the blocks that the gradient of a kernel or block is, as text of the language.
#include <cstdio>

#include "compiler/elaborate/elaborate.h"
#include "compiler/grad/directions.h"
#include "compiler/print/print.h"
#include "dsl/parser.h"
#include "runtime/format/file_io.h"
#include "tools/codac/command.h"
#include "tools/codac/compile_options.h"

namespace coda {
namespace {

struct GradOptions {
  CompileOptions compile;
  std::string direction = "both";
  double keep_at_most = -1;  ///< MB between the directions; below 0: what is fastest
};

/// Cuts the directions again; says so where that much can't be reached.
void limit(const GradOptions& options, const Program& source, const Bindings& sizes, Gradient& gradient) {
  const double kept = keep_at_most(source, options.keep_at_most * 1e6, sizes, gradient) / 1e6;
  if (kept <= options.keep_at_most) return;
  std::fprintf(stderr, "codac: %.1f MB are kept: less is not possible\n", kept);
}

int grad(const GradOptions& options) {
  constexpr uint64_t kLargestSource = uint64_t{16} << 20;
  const auto compile_request = options.compile.request("host", Stage::Elaborate);
  if (!compile_request) return kExitUsage;
  auto bytes = read_file(options.compile.file, kLargestSource);
  if (!bytes) return fail(bytes.status());

  Compilation compilation;
  const FileId file = compilation.sources->add(options.compile.file, std::string(bytes->begin(), bytes->end()));
  const auto module = parse(file, *compilation.sources, *compilation.diagnostics);
  ElaborateRequest request;
  request.routine = compile_request->routine;
  request.bound = compile_request->bindings;
  request.type_choices = compile_request->types;
  std::optional<Gradient> gradient;
  if (module) {
    gradient =
        elaborate_gradient(*module, file, *compilation.sources, request, *compilation.diagnostics, disk_reader());
  }
  if (gradient && options.keep_at_most >= 0) {
    const std::string suffix = kDirections[static_cast<size_t>(Direction::Whole)].suffix;
    request.routine = gradient->whole.name.substr(0, gradient->whole.name.size() - suffix.size());
    const auto source =
        elaborate(*module, file, *compilation.sources, request, *compilation.diagnostics, disk_reader());
    if (source) limit(options, *source, request.bound, *gradient);
  }
  options.compile.report(compilation);
  if (!gradient) return options.compile.exit_code(compilation, compile_request->bindings);
  std::string text;
  if (options.direction == "whole") text = to_source(gradient->whole);
  if (options.direction == "both" || options.direction == "forward") text = to_source(gradient->forward);
  if (options.direction == "both") text += "\n";
  if (options.direction == "both" || options.direction == "backward") text += to_source(gradient->backward);
  std::fputs(text.c_str(), stdout);
  return kExitOk;
}

}  // namespace

void add_grad(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand(
      "grad", "print the gradient of a kernel or block: forward with what it saves, and backward, as a program");
  auto options = std::make_shared<GradOptions>();
  options->compile.add_to(*command);
  command->add_option("--direction", options->direction, "`whole` is forward and backward as one block")
      ->check(CLI::IsMember({"both", "forward", "backward", "whole"}));
  command->add_option("--keep-at-most", options->keep_at_most,
                      "MB kept for the backward at the sizes of --dim: more is computed again");
  command->callback([options, &action] { action = [options] { return grad(*options); }; });
}

}  // namespace coda
