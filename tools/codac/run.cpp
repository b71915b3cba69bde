// codac run: runs a kernel or a block on files or random inputs, compares it with the reference, times it.
#include <algorithm>
#include <cstdio>

#include "runtime/device.h"
#include "tools/codac/arguments.h"
#include "tools/codac/command.h"
#include "tools/codac/compile_options.h"
#include "tools/codac/elements.h"
#include "tools/codac/output_files.h"
#include "tools/codac/report.h"
#include "tools/codac/runner.h"
#include "tools/codac/source_hash.h"
#include "tools/codac/tuned.h"
#include "tools/codac/verify.h"

namespace coda {
namespace {

struct RunOptions {
  CompileOptions compile;
  ArgumentOptions arguments;
  VerifyOptions verify;
  std::vector<std::string> outputs;
  std::string device = "auto", image, tuned;
  int ordinal = 0, repeat = 20;
  bool check = false, bench = false, graph = false, brief = false;
};

/// The device to run on; nothing after a message if it is not there.
std::optional<int> choose_device(const RunOptions& options) {
  if (options.device == "host") return kHostDevice;
  auto device = Device::get(options.ordinal);
  Status usable = device ? (*device)->runs("sm_90a") : device.status();
  if (usable.ok()) return options.ordinal;
  if (options.device == "auto") return kHostDevice;
  fail(kExitEnvironment, "--device cuda: " + usable.message());
  return {};
}

/// An image from elsewhere must have this program's parameters.
Status check_image_fits(const Signature& image, const Program& program) {
  auto differs = [](const std::string& what) {
    return Status(Code::InvalidArgument, "--image: it was compiled from another program: " + what);
  };
  if (image.params.size() != program.params.size()) return differs("the number of parameters");
  for (size_t i = 0; i < image.params.size(); ++i) {
    const ParamSpec& have = image.params[i];
    const Param& want = program.params[i];
    bool same = have.name == want.name && have.dtype == want.dtype && have.extents.size() == want.dims.size();
    for (size_t axis = 0; same && axis < want.dims.size(); ++axis) {
      same = have.extents[axis].substitute(image.bound) == want.dims[axis].extent.substitute(image.bound);
    }
    if (!same) return differs("parameter " + want.name);
  }
  return {};
}

/// And have been compiled from it, where it says from what.
Status check_image_source(const Artefact& artefact, const std::shared_ptr<const Image>& chosen,
                          const CompileRequest& request) {
  const auto at = std::find(artefact.images.begin(), artefact.images.end(), chosen) - artefact.images.begin();
  const std::string source = artefact.sources.empty() ? "" : artefact.sources[static_cast<size_t>(at)];
  if (source.empty() || source == source_hash(request, signature(*chosen).bound)) return {};
  return {Code::InvalidArgument, "--image: it was compiled from another program, with the same parameters as " +
                                     request.path + "; build it again"};
}

std::string problem_text(const Bindings& dims) {
  std::string text;
  for (const auto& [name, value] : dims) text += " " + name + "=" + std::to_string(value);
  return text;
}

std::string report_text(const OutputReport& report) {
  const Comparison& c = report.comparison;
  char text[256];
  std::snprintf(text, sizeof text, "%-8s %-5s max %.2e  rms %.2e (at most %.1e)  %lld %s", report.name.c_str(),
                std::string(info(report.dtype).name).c_str(), c.max_error, c.rms_error, report.bound.rms,
                static_cast<long long>(c.compared), report.whole ? "elements, all" : "sampled");
  std::string line = text;
  if (c.imprecise > 0) line += " (" + std::to_string(c.imprecise) + " beyond 2^53, as f64)";
  if (c.other_side > 0) line += " (" + std::to_string(c.other_side) + " on the other side of an edge)";
  if (c.passed) return line + "  ok";
  std::snprintf(text, sizeof text, "; element %lld is %.9g, expected %.9g", static_cast<long long>(c.at.index),
                c.at.got, c.at.want);
  return line + "  WRONG: " + c.reason + (c.beyond > 0 ? text : "");
}

/// Two runs over outputs poisoned differently; both results must be the same bits.
int run_and_verify(const RunOptions& options, const Program& program, const Problem& problem,
                   const Arguments& arguments, Runner& runner, std::vector<HostTensor>& results, std::string& brief) {
  constexpr uint8_t kPoison[] = {0xff, 0x5a};
  for (uint8_t poison : kPoison) {
    if (Status status = runner.run(poison); !status.ok()) return fail(status);
    auto got = runner.results();
    if (!got) return fail(got.status());
    if (poison == kPoison[0]) {
      results = std::move(*got);
      if (!options.check) return kExitOk;
      continue;
    }
    for (size_t i = 0; i < results.size(); ++i) {
      const auto first = results[i].storage(), second = (*got)[i].storage();
      auto differs = std::mismatch(first.begin(), first.end(), second.begin(), second.end());
      if (differs.first == first.end()) continue;
      return fail(kExitWrong, "two runs differ in " + program.params[i].name + ", first at byte " +
                                  std::to_string(differs.first - first.begin()) +
                                  ": an element is not written, or written by two");
    }
  }
  auto reports = verify(program, problem, arguments, results, options.verify);
  if (!reports) return fail(kExitEnvironment, "the reference cannot be computed: " + reports.status().message());
  bool passed = true;
  for (const OutputReport& report : *reports) {
    passed = passed && report.comparison.passed;
    char text[64];
    std::snprintf(text, sizeof text, " %s %.1e", report.name.c_str(), report.comparison.rms_error);
    brief += text;
    if (!options.brief || !report.comparison.passed) std::printf("  %s\n", report_text(report).c_str());
  }
  if (!options.brief && passed)
    std::printf("  verified: equal to the reference within rounding, twice the same bits\n");
  brief += passed ? " (rms), same bits twice" : " WRONG";
  return passed ? kExitOk : kExitWrong;
}

/// Every file that the run reads.
std::vector<NamedPath> files_read(const RunOptions& options, const InputFiles& inputs) {
  std::vector<NamedPath> files{{"FILE", options.compile.file}};
  if (!options.image.empty()) files.push_back({"--image", options.image});
  if (!options.tuned.empty()) files.push_back({"--tuned", options.tuned});
  for (const auto& [name, file] : inputs.files()) files.push_back({"--in " + name, file.path});
  return files;
}

/// Outputs are written of a wrong result too: that is when one looks at them.
int write_outputs(const OutputFiles& outputs, const Program& program, const std::vector<HostTensor>& results,
                  int verdict) {
  if (outputs.empty() || (verdict != kExitOk && verdict != kExitWrong)) return verdict;
  if (Status status = outputs.write(program.params, results); !status.ok()) {
    const int code = fail(status);
    return verdict == kExitOk ? code : verdict;
  }
  if (verdict == kExitWrong) std::fprintf(stderr, "codac: the wrong result is in %s\n", outputs.text().c_str());
  return verdict;
}

/// What no device can do, or what asks for nothing.
Status check_bench(const RunOptions& options, int device) {
  const auto bad = [](const std::string& why) { return Status(Code::InvalidArgument, why); };
  if (options.graph && !options.bench) return bad("--graph goes with --bench");
  if (options.graph && device == kHostDevice) return bad("--graph: there are no CUDA graphs on the CPU");
  return {};
}

int run(RunOptions& options) {
  auto inputs = InputFiles::read(options.arguments);
  if (!inputs) return fail(inputs.status());
  auto outputs = OutputFiles::read(options.outputs);
  if (!outputs) return fail(outputs.status());
  const auto device = choose_device(options);
  if (!device) return kExitEnvironment;
  if (Status status = check_bench(options, *device); !status.ok()) return fail(status);
  const std::string target = *device == kHostDevice ? "host" : "sm_90a";

  // Once for the parameters' shapes, which with the files give the dimensions, and then for the code.
  auto request = options.compile.request(target, Stage::Elaborate);
  if (!request) return kExitUsage;
  options.compile.say_unused(target);
  Compilation shapes = compile(*request);
  if (!shapes.ok()) {
    options.compile.report(shapes);
    return options.compile.exit_code(shapes, request->bindings);
  }
  Status writable = outputs->check(shapes.program->params, files_read(options, *inputs));
  if (!writable.ok()) return fail(writable);
  Bindings dims = request->bindings;
  for (const auto& [name, value] : shapes.program->bound) dims[name] = value;
  if (Status status = inputs->solve(shapes.program->params, dims); !status.ok()) return fail(status);
  if (auto missing = missing_symbols(shapes.program->params, dims); !missing.empty()) {
    std::string text;
    for (const auto& name : missing) text += (text.empty() ? "" : ", ") + name;
    return fail(kExitUsage, "no value for dimension " + text + "; give it with --dim " + missing[0] +
                                "=... or by the shape of an input");
  }
  request->bindings = dims;
  if (!options.tuned.empty() && *device != kHostDevice) {
    const std::string remark = apply_tuned(options.tuned, (*Device::get(*device))->name(), *request);
    if (!remark.empty()) std::fprintf(stderr, "codac: %s\n", remark.c_str());
  }
  request->stage = options.image.empty() ? Stage::Assemble : Stage::Lower;
  Compilation compilation = compile(*request);
  options.compile.report(compilation);
  if (!compilation.ok()) return options.compile.exit_code(compilation, dims);
  auto image = compilation.take_image();
  if (!options.image.empty()) {
    auto artefact = load_artefact(options.image);
    if (!artefact) return fail(artefact.status());
    Status fits = check_image_fits(artefact->signature(), *shapes.program);
    if (!fits.ok()) return fail(fits);
    auto chosen = image_for(*artefact, *device);
    if (!chosen) return fail(chosen.status());
    Status same = check_image_source(*artefact, *chosen, *request);
    if (!same.ok()) return fail(same);
    image = **chosen;
  }

  const Program& program = *compilation.program;
  const Problem problem = problem_of(compilation, dims, target);
  auto arguments = inputs->make(program, problem, dims, options.arguments);
  if (!arguments) return fail(arguments.status());
  auto runner = Runner::create(std::make_shared<Image>(std::move(*image)), *device, *arguments);
  if (!runner) return fail(runner.status());

  const std::string where = *device == kHostDevice ? "the CPU" : (*Device::get(*device))->name();
  if (!options.brief) {
    std::printf("%s on %s,%s\n", program.name.c_str(), where.c_str(), problem_text(dims).c_str());
  }
  std::vector<HostTensor> results;
  std::string brief;
  const int verdict = run_and_verify(options, program, problem, *arguments, **runner, results, brief);
  if (int code = write_outputs(*outputs, program, results, verdict)) return code;
  if (options.bench) {
    auto timing = (*runner)->bench(options.repeat, options.graph);
    if (!timing) return fail(timing.status());
    char text[160];
    std::snprintf(text, sizeof text, "%.4g ms, %s (median of %d; %.4g to %.4g ms)", timing->median_ms,
                  with_prefix(problem.flops / timing->median_ms * 1e3, "FLOP/s").c_str(), timing->runs,
                  timing->fastest_ms, timing->slowest_ms);
    if (!options.brief) std::printf("  time: %s\n", text);
    brief += std::string(brief.empty() ? " " : "; ") + text;
  }
  if (options.brief) std::printf("%s%s:%s\n", program.name.c_str(), problem_text(dims).c_str(), brief.c_str());
  return kExitOk;
}

}  // namespace

void add_run(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand("run", "run a kernel or a block, compare it with the reference, time it");
  auto options = std::make_shared<RunOptions>();
  const auto at_least_one = CLI::Range(int64_t{1}, int64_t{1} << 40);
  options->compile.add_to(*command);
  command
      ->add_option("--in", options->arguments.inputs,
                   "an input: NAME=FILE, NAME=FILE.npy:TYPE, NAME=NUMBER, NAME=normal(0, 1)")
      ->type_name("NAME=VALUE");
  command->add_option("--out", options->outputs, "where to write an output: NAME=FILE (.npy, .safetensors)")
      ->type_name("NAME=FILE");
  command->add_option("--device", options->device, "where to run")->check(CLI::IsMember({"auto", "host", "cuda"}));
  command->add_option("--ordinal", options->ordinal, "which CUDA device")->check(CLI::Range(0, 1 << 16));
  command->add_option("--image", options->image, "take the code from this file, made by `codac build` for FILE");
  command->add_flag("--verify", options->check, "compare with the reference, and two runs with one another");
  command->add_option("--rows", options->verify.rows, "rows of each output to compare at large sizes")
      ->check(at_least_one);
  command->add_option("--columns", options->verify.columns, "columns of each output to compare at large sizes")
      ->check(at_least_one);
  command->add_option("--slack", options->verify.slack, "factor on the accumulation part of the error bound")
      ->check([](const std::string& text) {
        double value = -1;  // a range of CLI11's takes NaN
        return CLI::detail::lexical_cast(text, value) && value >= 0 && value <= 1e9 ? "" : "a number from 0 to 1e9";
      });
  command->add_option("--tuned", options->tuned, "a file of `codac tune`: the schedule measured there, if it has one");
  command->add_flag("--bench", options->bench, "print time and FLOP/s");
  command->add_flag("--graph", options->graph, "time replays of a CUDA graph of the launch");
  command->add_option("--repeat", options->repeat, "runs that are timed")->check(CLI::Range(1, 100000));
  command->add_option("--seed", options->arguments.seed, "of the random inputs and of the sample");
  command->add_flag("--round-inputs", options->arguments.round_inputs, "round input files to the parameters' types");
  command->add_flag("--brief", options->brief, "one line");
  command->callback([options, &action] {
    options->verify.seed = options->arguments.seed;
    action = [options] { return run(*options); };
  });
}

}  // namespace coda
