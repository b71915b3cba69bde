// Hidden: random kernels and one of each row form on a GPU beside the reference, in one process. On a machine with a
// GPU and ptxas: CODA_RANDOM_KERNELS=FIRST:COUNT test_cli "[.gpu]"; CODA_GPU_TARGET=host tries the test itself on the
// CPU, CODA_GPU_SECONDS says after how long no more is begun.
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "compiler/elaborate/elaborate.h"
#include "dsl/parser.h"
#include "tests/cli/run_block.h"
#include "tests/codegen/random_kernel.h"
#include "tests/codegen/row_forms.h"

namespace coda::testing {
namespace {

constexpr const char* kSchedules[] = {"64x64",           "16x64",  "128x128", "64x256",           "32x128",
                                      "pingpong-64x256", "128x64", "128x256", "pingpong-128x192", "64x32"};

struct Case {
  std::string name, text;
  Bindings bound;
  std::vector<Bindings> sizes;
  std::vector<std::string> inputs;
  std::string schedule;
};

/// Sizes whose rows tensor maps can address.
Bindings aligned(Bindings sizes) {
  for (auto& [name, value] : sizes) {
    if (name != "B" && name != "C" && name != "H") value = (value + 7) / 8 * 8;
  }
  return sizes;
}

/// Whole numbers, whose products are exact: what compares them then has one answer.
std::vector<std::string> whole_inputs(const std::string& text, const Bindings& bound, unsigned seed) {
  SourceMap sources;
  Diagnostics diagnostics(sources);
  const FileId file = sources.add("random.coda", text);
  const auto module = parse(file, sources, diagnostics);
  ElaborateRequest request;
  request.bound = bound;
  const auto program = module ? elaborate(*module, file, sources, request, diagnostics) : std::nullopt;
  std::vector<std::string> inputs;
  for (const Param& param : program ? program->params : std::vector<Param>{}) {
    const NumClass own = info(param.dtype).num_class;
    if (param.role == Param::Role::Out || own == NumClass::Bool) continue;
    const bool scalar = param.dims.empty();
    const std::string whole = scalar ? std::to_string(seed) : "integers(0, 4)",
                      real = scalar ? "0.5" : "integers(-2, 3)";
    inputs.push_back(param.name + "=" + (own == NumClass::Real ? real : whole));
  }
  return inputs;
}

std::vector<Case> all_cases() {
  unsigned first = 20001, count = 500;
  if (const char* seeds = std::getenv("CODA_RANDOM_KERNELS")) {
    REQUIRE(std::sscanf(seeds, "%u:%u", &first, &count) == 2);
  }
  std::vector<Case> cases;
  for (unsigned seed = first; count > 0; ++seed) {
    const test::RandomKernel kernel = test::random_kernel(seed);
    if (kernel.parameters.find("x: f32") != std::string::npos) continue;  // a product of f32 is the host's
    const std::string text = kernel.to_text();
    cases.push_back({"random " + std::to_string(seed),
                     text,
                     kernel.bound,
                     {kernel.sizes, aligned(kernel.sizes)},
                     whole_inputs(text, kernel.bound, seed),
                     kSchedules[seed % std::size(kSchedules)]});
    --count;
  }
  for (const test::RowForm& form : test::row_forms()) {
    for (const char* schedule : {"64x64", "16x64"})
      cases.push_back({form.name, form.text, {}, form.sizes, {}, schedule});
  }
  return cases;
}

struct Tally {
  int right = 0, refused = 0, empty = 0, begun = 0;  // empty: the reference is 0 everywhere, say
  std::string wrong;
};

void run(const Case& one, const std::string& target, Tally& tally, std::mutex& lock) {
  for (const Bindings& sizes : one.sizes) {
    BlockOptions options{.seed = 1, .inputs = one.inputs, .target = target, .bound = one.bound};
    if (target != "host") options.schedule = one.schedule;
    BlockRun run = run_block(one.text, sizes, options);
    if (!run.compiled && !options.schedule.empty()) {  // its tile doesn't fit
      options.schedule.clear();
      run = run_block(one.text, sizes, options);
    }
    const bool is_empty = run.message.find("proves nothing") != std::string::npos;
    const std::lock_guard guard(lock);
    ++tally.begun;
    tally.refused += !run.compiled;
    tally.right += run.compiled && run.right;
    tally.empty += run.compiled && !run.right && is_empty;
    if (run.compiled && !run.right && !is_empty) {
      tally.wrong += one.name + " (" + one.schedule + ")";
      for (const auto& [name, value] : sizes) tally.wrong += " " + name + "=" + std::to_string(value);
      tally.wrong += "\n" + one.text + run.message;
    }
  }
}

}  // namespace

TEST_CASE("random kernels on a GPU", "[.gpu]") {
  const char* chosen = std::getenv("CODA_GPU_TARGET");
  const char* limit = std::getenv("CODA_GPU_SECONDS");
  const std::string target = chosen ? chosen : "sm_90a";
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(limit ? std::atoi(limit) : 3600);
  const std::vector<Case> cases = all_cases();
  std::atomic<size_t> next{0};
  Tally tally;
  std::mutex lock;
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < std::max(1U, std::thread::hardware_concurrency()); ++i) {
    threads.emplace_back([&] {
      while (std::chrono::steady_clock::now() < end) {
        const size_t mine = next++;
        if (mine >= cases.size()) return;
        run(cases[mine], target, tally, lock);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::printf("%zu programs, %d runs: %d right, %d refused, %d of nothing\n%s", std::min(cases.size(), next.load()),
              tally.begun, tally.right, tally.refused, tally.empty, tally.wrong.c_str());
  CHECK(tally.right > 0);
  CHECK(tally.right + tally.refused + tally.empty == tally.begun);
}

}  // namespace coda::testing
