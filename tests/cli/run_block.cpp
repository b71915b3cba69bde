#include "tests/cli/run_block.h"

#include <mutex>

#include "compiler/plan/interpret.h"
#include "tools/codac/runner.h"
#include "tools/codac/verify.h"

namespace coda::testing {

namespace {

std::string failure(const Status& status) { return "failed: " + status.message(); }

bool same_bits(const std::vector<HostTensor>& a, const std::vector<HostTensor>& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    const auto left = a[i].storage(), right = b[i].storage();
    if (!std::equal(left.begin(), left.end(), right.begin(), right.end())) return false;
  }
  return true;
}

/// Empty if the plan means what the source does, nothing between its kernels rounded to their types.
std::string planned_otherwise(const Program& program, const Plan& plan, const Bindings& dims,
                              const BlockOptions& options) {
  const auto seed = static_cast<uint32_t>(options.seed);
  const Meaning source = interpret_source(program, dims, seed), planned = interpret_plan(program, plan, dims, seed);
  if (!source.failure.empty() || !planned.failure.empty()) return "failed: " + source.failure + planned.failure + "\n";
  const double off = difference(source, planned);
  return off <= options.apart ? "" : "the plan differs from the source by " + std::to_string(off) + "\n";
}

/// Runs twice, over outputs poisoned differently.
Status run_twice(Runner& runner, std::vector<HostTensor>& results) {
  std::vector<HostTensor> first;
  for (const uint8_t poison : {uint8_t{0xff}, uint8_t{0x5a}}) {
    if (Status status = runner.run(poison); !status.ok()) return status;
    auto got = runner.results();
    if (!got) return got.status();
    first = std::move(results);
    results = std::move(*got);
  }
  return same_bits(first, results) ? Status() : Status(Code::Corrupt, "two runs differ");
}

}  // namespace

BlockRun run_block(const std::string& text, const Bindings& dims, uint64_t seed, double slack) {
  return run_block(text, dims, {.seed = seed, .slack = slack, .inputs = {}});
}

namespace {

/// One program, and its image once it has been compiled.
struct Compiled {
  std::unique_ptr<Compilation> compilation;
  std::shared_ptr<Image> image;
  std::string message;
};

Compiled compile_once(const std::string& text, const Bindings& bindings, const BlockOptions& options) {
  CompileRequest request{.path = "block.coda",
                         .text = text,
                         .routine = options.routine,
                         .bindings = bindings,
                         .schedule = options.overrides,
                         .schedule_name = options.schedule,
                         .target = options.target};
  Compiled compiled;
  compiled.compilation = std::make_unique<Compilation>(compile(request));
  compiled.message = compiled.compilation->diagnostics->render_text();
  if (compiled.compilation->ok()) compiled.image = std::make_shared<Image>(*compiled.compilation->take_image());
  return compiled;
}

BlockRun run_compiled(const Compiled& compiled, const Bindings& dims, const BlockOptions& options) {
  const Compilation& compilation = *compiled.compilation;
  BlockRun run;
  run.message = compiled.message;
  if (!compiled.image) return run;
  run.compiled = true;
  run.kernels = compilation.plan ? static_cast<int>(compilation.plan->kernels.size()) : 1;
  Bindings all = dims;
  for (const auto& [name, value] : compilation.program->bound) all.emplace(name, value);
  const Program& program = *compilation.program;
  std::string otherwise;
  if (compilation.plan) {
    otherwise = planned_otherwise(program, *compilation.plan, all, options);
    run.message += to_text(*compilation.plan) + otherwise;
  }
  const Problem problem = problem_of(compilation, all);
  const ArgumentOptions made{.inputs = options.inputs, .seed = options.seed};
  auto inputs = InputFiles::read(made);
  if (!inputs) return run.message += failure(inputs.status()), run;
  auto arguments = inputs->make(program, problem, all, made);
  if (!arguments) return run.message += failure(arguments.status()), run;
  std::vector<HostTensor> results;
  {
    // Callers may compile and verify side by side; the device is one.
    static std::mutex one_at_a_time;
    const std::lock_guard lock(one_at_a_time);
    const int device = options.target == "host" ? kHostDevice : 0;
    auto runner = Runner::create(compiled.image, device, *arguments);
    if (!runner) return run.message += failure(runner.status()), run;
    if (Status status = run_twice(**runner, results); !status.ok()) return run.message += failure(status), run;
  }
  auto reports = verify(program, problem, *arguments, results, {.seed = options.seed, .slack = options.slack});
  if (!reports) return run.message += failure(reports.status()), run;
  run.right = otherwise.empty();
  for (const OutputReport& report : *reports) {
    const Comparison& c = report.comparison;
    run.right = run.right && c.passed && report.whole;
    run.message += report.name + ": worst " + std::to_string(c.worst) + ", rms " + std::to_string(c.rms_error) +
                   " of " + std::to_string(report.bound.rms) + " " + c.reason + "\n";
  }
  return run;
}

}  // namespace

BlockRun run_block(const std::string& text, const Bindings& dims, const BlockOptions& options) {
  Bindings bindings = options.bound.empty() ? dims : options.bound;
  for (const auto& [symbol, value] : options.planned_for) {
    if (dims.contains(symbol)) bindings[symbol] = value;
  }
  return run_compiled(compile_once(text, bindings, options), dims, options);
}

std::vector<BlockRun> run_at_sizes(const std::string& text, const std::vector<Bindings>& sizes,
                                   const BlockOptions& options) {
  const Compiled compiled = compile_once(text, options.bound, options);
  std::vector<BlockRun> runs;
  for (const Bindings& dims : sizes) {
    Bindings all = dims;
    all.insert(options.bound.begin(), options.bound.end());
    runs.push_back(run_compiled(compiled, all, options));
  }
  return runs;
}

}  // namespace coda::testing
