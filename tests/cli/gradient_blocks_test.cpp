// Layers and their derived backwards, planned for the sizes people run, compiled and run on the host at small ragged
// sizes, one after the other, against the gradient of the source in f64.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/cli/run_block.h"
#include "tests/source_root.h"
#include "tools/codac/runner.h"
#include "tools/codac/verify.h"

using namespace coda;
using namespace coda::testing;

namespace {

const Bindings kLarge{{"T", 8192}, {"D", 4096}, {"A", 4096}, {"F", 14336}, {"N", 6144}};

std::string text_of(const std::filesystem::path& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

/// Planned for large sizes, with as many heads as asked: those may be compiled in.
Compilation compiled(const std::string& text, const std::string& routine, const Bindings& dims, Stage stage) {
  CompileRequest request{.path = "layer.coda", .text = text, .routine = routine, .target = "host", .stage = stage};
  for (const auto& [symbol, value] : dims) {
    request.bindings[symbol] = kLarge.contains(symbol) ? kLarge.at(symbol) : value;
  }
  Compilation made = compile(request);
  INFO(routine << "\n" << made.diagnostics->render_text());
  REQUIRE(made.ok());
  return made;
}

Arguments arguments_of(const Compilation& made, const Bindings& dims) {
  const ArgumentOptions options{.inputs = {}, .seed = 3};
  Bindings all = dims;
  for (const auto& [name, value] : made.program->bound) all.emplace(name, value);
  auto inputs = InputFiles::read(options);
  auto arguments = inputs->make(*made.program, problem_of(made, all), all, options);
  REQUIRE(arguments.ok());
  return std::move(*arguments);
}

/// Tensors by the names of their parameters.
using Named = std::map<std::string, const HostTensor*>;

void name_tensors(const Program& program, const std::vector<HostTensor>& tensors, Named& named) {
  for (size_t p = 0; p < program.params.size(); ++p) {
    if (tensors[p].view().data != nullptr) named[program.params[p].name] = &tensors[p];
  }
}

/// Runs with the named tensors; what is only written stays as it was made.
std::vector<HostTensor> run(Compilation& made, const Bindings& dims, const Named& named) {
  Arguments arguments = arguments_of(made, dims);
  for (size_t p = 0; p < made.program->params.size(); ++p) {
    const Param& param = made.program->params[p];
    if (param.role == Param::Role::Out) continue;
    INFO(param.name);
    const auto given = named.find(param.name);
    REQUIRE(given != named.end());
    auto copy = contiguous_copy(given->second->view());
    REQUIRE(copy.ok());
    REQUIRE(copy->bytes() == arguments.tensors[p].bytes());
    arguments.tensors[p] = std::move(*copy);
  }
  auto runner = Runner::create(std::make_shared<Image>(*made.take_image()), kHostDevice, arguments);
  INFO((runner.ok() ? "" : runner.status().message()));
  REQUIRE(runner.ok());
  const Status status = (*runner)->run(0xff);
  INFO(status.message());
  REQUIRE(status.ok());
  auto results = (*runner)->results();
  REQUIRE(results.ok());
  return std::move(*results);
}

int products_of(const Compilation& made) {
  const auto& kernels = made.plan->kernels;
  return static_cast<int>(std::count_if(kernels.begin(), kernels.end(),
                                        [](const PlanKernel& kernel) { return kernel.kind == KernelKind::Gemm; }));
}

void check(const std::string& name, const Bindings& dims) {
  const std::string text = text_of(source_root() + "/tests/grad/plans/" + name + ".coda");
  const Compilation whole = compiled(text, name + "_grad", dims, Stage::Lower);
  Compilation forward = compiled(text, name + "_fwd", dims, Stage::Assemble);
  Compilation backward = compiled(text, name + "_bwd", dims, Stage::Assemble);
  CHECK(products_of(forward) == 4);
  CHECK(products_of(backward) == 8);

  const Arguments given = arguments_of(whole, dims);
  Named named;
  name_tensors(*whole.program, given.tensors, named);
  const std::vector<HostTensor> kept = run(forward, dims, named);
  name_tensors(*forward.program, kept, named);
  const std::vector<HostTensor> gradients = run(backward, dims, named);
  name_tensors(*backward.program, gradients, named);

  std::vector<HostTensor> results(whole.program->params.size());
  for (const auto& output : whole.program->outputs) {
    const auto p = static_cast<size_t>(output.param);
    results[p] = std::move(*contiguous_copy(named.at(whole.program->params[p].name)->view()));
  }
  Bindings all = dims;
  for (const auto& [symbol, value] : whole.program->bound) all.emplace(symbol, value);
  // Twice the bound of one plan for both directions: what is kept between two is rounded once more.
  const auto reports = verify(*whole.program, problem_of(whole, all), given, results, {.seed = 3, .slack = 2});
  REQUIRE(reports.ok());
  for (const OutputReport& report : *reports) {
    INFO(name << ": " << report.name << ", worst " << report.comparison.worst << ", rms " << report.comparison.rms_error
              << " of " << report.bound.rms << " " << report.comparison.reason);
    CHECK(report.comparison.passed);
  }
}

}  // namespace

TEST_CASE("layers and their backwards, run one after the other, give the gradient") {
  const Bindings heads{{"D", 22}, {"A", 19}, {"F", 13}, {"Hq", 3}}, plain{{"D", 22}, {"A", 19}, {"F", 13}, {"N", 9}};
  for (const auto& [name, sizes] : {std::pair("llama", heads), {"qwen3", heads}, {"gemma2", plain}, {"gpt2", plain}}) {
    Bindings dims = sizes;
    dims["T"] = 7;
    check(name, dims);
  }
  Bindings dims = plain;
  dims["T"] = 1;
  check("gpt2", dims);
}

TEST_CASE("both directions in one plan give the gradient") {
  const std::string text = text_of(source_root() + "/tests/grad/plans/llama.coda");
  const BlockRun run = run_block(text, {{"T", 7}, {"D", 22}, {"A", 19}, {"F", 13}, {"Hq", 3}},
                                 {.seed = 2, .planned_for = kLarge, .routine = "llama_grad", .inputs = {}});
  INFO(run.message);
  REQUIRE(run.compiled);
  CHECK(run.right);
  CHECK(run.kernels == 13);
}
