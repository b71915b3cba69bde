// codac tune: measures a kernel, its epilogue included, with the schedules that the estimate likes best, and keeps the
// fastest in a file.
#include <algorithm>
#include <cstdio>
#include <iterator>

#include "runtime/device.h"
#include "runtime/jit/generate.h"
#include "tools/codac/arguments.h"
#include "tools/codac/command.h"
#include "tools/codac/compile_options.h"
#include "tools/codac/runner.h"
#include "tools/codac/tuned.h"

namespace coda {
namespace {

struct TuneOptions {
  CompileOptions compile;
  ArgumentOptions arguments;
  std::string results = "coda_tuned.json";
  int ordinal = 0, repeat = 30, most = 6;
};

std::string candidate_text(const Sm90Candidate& candidate) {
  return candidate.schedule + (candidate.split > 1 ? ", depth in " + std::to_string(candidate.split) + " parts" : "") +
         (candidate.tail ? ", last round shared" : "");
}

/// Milliseconds; nothing after a remark if the candidate is out.
std::optional<double> measure(const TuneOptions& options, CompileRequest request, const Sm90Candidate& candidate,
                              const Arguments& arguments) {
  request.schedule_name = candidate.schedule;
  if (candidate.split > 1) request.schedule["split"] = candidate.split;
  if (candidate.tail) request.schedule["tail"] = 1;
  request.stage = Stage::Assemble;
  const auto out = [&](const std::string& why) {
    std::printf("  %-40s %s\n", candidate_text(candidate).c_str(), why.c_str());
    std::fflush(stdout);
    return std::nullopt;
  };
  Compilation compilation = compile(request);
  if (!compilation.ok()) return out(compilation.diagnostics->all()[0].message);
  if (compilation.image->spill_bytes > 0) {
    return out("spills " + std::to_string(compilation.image->spill_bytes) + " bytes of registers");
  }
  auto runner =
      Runner::create(std::make_shared<Image>(std::move(*compilation.take_image())), options.ordinal, arguments);
  if (!runner) return out(runner.status().message());
  if (Status status = (*runner)->run(0xff); !status.ok()) return out(status.message());
  const auto timing = (*runner)->bench(options.repeat, true);
  if (!timing) return out(timing.status().message());
  char text[80];
  std::snprintf(text, sizeof text, "%.4g ms (%.4g to %.4g)", timing->median_ms, timing->fastest_ms, timing->slowest_ms);
  out(text);
  return timing->median_ms;
}

int tune(const TuneOptions& options) {
  auto device = Device::get(options.ordinal);
  const Status usable = device ? (*device)->runs("sm_90a") : device.status();
  if (!usable.ok()) return fail(kExitEnvironment, usable.message());
  auto file = TunedFile::read(options.results);
  if (!file) return fail(file.status());
  Status writable = check_outputs({{"--results", options.results}}, {{"FILE", options.compile.file}});
  if (!writable.ok()) return fail(writable);

  auto request = options.compile.request("sm_90a", Stage::Lower);
  if (!request) return kExitUsage;
  const Compilation lowered = compile(*request);
  options.compile.report(lowered);
  if (!lowered.ok()) return options.compile.exit_code(lowered, request->bindings);
  if (!lowered.epilogue || lowered.epilogue->is_rowwise()) {
    return fail(kExitUsage, "only a kernel with a product has schedules to choose from");
  }
  const Program& program = *lowered.program;
  Bindings dims = request->bindings;
  if (auto missing = missing_symbols(program.params, dims); !missing.empty()) {
    return fail(kExitUsage, "no value for dimension " + missing[0] + "; give it with --dim " + missing[0] + "=...");
  }
  auto inputs = InputFiles::read(options.arguments);
  if (!inputs) return fail(inputs.status());
  if (Status status = inputs->solve(program.params, dims); !status.ok()) return fail(status);
  auto arguments = inputs->make(program, problem_of(lowered, dims, "sm_90a"), dims, options.arguments);
  if (!arguments) return fail(arguments.status());

  const TunedKey key = tuned_key(*lowered.epilogue, dims, (*device)->name());
  std::printf("%s at %s on %s\n", program.name.c_str(), key.sizes.c_str(), key.device.c_str());
  auto candidates = sm90_candidates(*lowered.epilogue, sm90_options_for(*request, *lowered.epilogue));
  const auto is_whole = [](const Sm90Candidate& candidate) { return candidate.split == 1 && !candidate.tail; };
  const auto end = candidates.begin() + std::min<std::ptrdiff_t>(options.most, std::ssize(candidates));
  // What would be taken without a tuner is among those that are measured.
  const auto whole = std::find_if(candidates.begin(), candidates.end(), is_whole);
  if (whole != candidates.end() && whole >= end) std::iter_swap(end - 1, whole);
  std::optional<TunedSchedule> best;
  for (auto candidate = candidates.begin(); candidate != end; ++candidate) {
    const auto ms = measure(options, *request, *candidate, *arguments);
    if (ms && (!best || *ms < best->milliseconds)) best = {candidate->schedule, candidate->split, candidate->tail, *ms};
  }
  if (!best) return fail(kExitEnvironment, "no schedule could be measured");
  file->put(key, *best);
  if (Status status = file->write(options.results); !status.ok()) return fail(status);
  std::printf("best: %s; kept in %s\n", candidate_text({best->name, best->split, best->tail}).c_str(),
              options.results.c_str());
  return kExitOk;
}

}  // namespace

void add_tune(CLI::App& app, Action& action) {
  auto* command =
      app.add_subcommand("tune", "measure a kernel's best schedules on a GPU and keep the fastest in a file");
  auto options = std::make_shared<TuneOptions>();
  options->compile.add_to(*command);
  command->add_option("--in", options->arguments.inputs, "NAME=WHAT: an input, as `codac run` takes it")
      ->type_name("NAME=WHAT");
  command->add_option("--results", options->results, "the file of measured schedules, added to")->capture_default_str();
  command->add_option("--most", options->most, "how many schedules to measure")->check(CLI::PositiveNumber);
  command->add_option("--repeat", options->repeat, "launches of each")->check(CLI::PositiveNumber);
  command->add_option("--ordinal", options->ordinal, "which CUDA device");
  command->callback([&action, options] { action = [options] { return tune(*options); }; });
}

}  // namespace coda
