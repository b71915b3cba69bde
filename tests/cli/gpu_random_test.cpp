// Hidden: random programs on a GPU beside the reference, in one process, and one program of each kind. On a machine
// with a GPU, or on the emulated one: CODA_RANDOM_KERNELS=FIRST:COUNT test_cli "[.gpu]".
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "tests/cli/gpu_cases.h"
#include "tests/cli/gpu_sizes.h"
#include "tests/codegen/random_kernel.h"
#include "tests/codegen/random_rowwise.h"
#include "tests/codegen/row_forms.h"
#include "tests/codegen/sm90_programs.h"
#include "tests/plan/random_block.h"

namespace coda::testing {
namespace {

constexpr const char* kSchedules[] = {"64x64",           "16x64",  "128x128", "64x256",           "32x128",
                                      "pingpong-64x256", "128x64", "128x256", "pingpong-128x192", "64x32"};

/// Random numbers are much code for each element: an assembler works on several of them in a large tile for minutes.
const char* schedule_for(const std::string& text, unsigned seed) {
  size_t draws = 0;
  for (size_t at = text.find(", seed)"); at != std::string::npos; at = text.find(", seed)", at + 1)) ++draws;
  return kSchedules[draws > 1 ? seed % 2 : seed % std::size(kSchedules)];
}

struct Seeds {
  unsigned first, count;
};
Seeds chosen_seeds(unsigned first, unsigned count) {
  if (const char* seeds = std::getenv("CODA_RANDOM_KERNELS")) {
    REQUIRE(std::sscanf(seeds, "%u:%u", &first, &count) == 2);
  }
  return {first, count};
}

}  // namespace

TEST_CASE("random kernels on a GPU", "[.gpu]") {
  auto [seed, count] = chosen_seeds(20001, 500);
  std::vector<GpuCase> cases;
  for (; count > 0; ++seed) {
    const test::RandomKernel kernel = test::random_kernel(seed);
    if (kernel.parameters.find("x: f32") != std::string::npos) continue;  // a product of f32 is the host's
    const std::string text = kernel.to_text();
    cases.push_back({"random " + std::to_string(seed),
                     text,
                     kernel.bound,
                     {kernel.sizes, aligned_sizes(kernel.sizes, {"B", "C", "H"})},
                     whole_inputs(text, kernel.bound, seed),
                     schedule_for(text, seed)});
    --count;
  }
  run_gpu_cases(cases);
}

TEST_CASE("row forms on a GPU", "[.gpu]") {
  std::vector<GpuCase> cases;
  for (const test::RowForm& form : test::row_forms()) {
    for (const char* schedule : {"64x64", "16x64"}) {
      cases.push_back({form.name, form.text, {}, form.sizes, {}, schedule});
    }
  }
  run_gpu_cases(cases);
}

TEST_CASE("random kernels without a product on a GPU", "[.gpu]") {
  auto [seed, count] = chosen_seeds(20001, 300);
  std::vector<GpuCase> cases;
  for (; count > 0; ++seed, --count) {
    const test::RandomRowwise kernel = test::random_rowwise(seed);
    cases.push_back({"row-wise " + std::to_string(seed),
                     kernel.text,
                     kernel.bound,
                     {kernel.sizes, aligned_sizes(kernel.sizes, {"H", "G"})},
                     {},
                     ""});
  }
  run_gpu_cases(cases);
}

TEST_CASE("random overrides of schedules on a GPU", "[.gpu]") {
  auto [seed, count] = chosen_seeds(20001, 200);
  const std::vector<test::Sm90Program> programs = test::sm90_programs();
  std::vector<GpuCase> cases;
  for (; count > 0; ++seed, --count) {
    std::mt19937 random(seed);
    const auto one_of = [&](std::initializer_list<double> values) { return values.begin()[random() % values.size()]; };
    const test::Sm90Program& program = programs[random() % programs.size()];
    const std::map<std::string, double> overrides = {
        {"tile_m", one_of({16, 32, 64, 128})}, {"tile_n", one_of({16, 24, 32, 48, 64, 96, 128, 160, 192, 256})},
        {"stages", one_of({2, 3, 4, 5})},      {"cluster", one_of({1, 1, 2})},
        {"consumers", one_of({1, 2})},         {"group_m", one_of({1, 2, 3, 8})},
        {"split", one_of({1, 1, 2, 3, 5})}};
    Bindings bound = program.bound;
    if (bound.contains("Hq")) bound = {{"Dh", 32}, {"Hq", 2}, {"Hkv", 1}};
    Bindings sizes;
    for (const std::string& symbol : open_symbols(program.text, bound)) {
      sizes[symbol] = symbol == "B" || symbol == "H" ? 2 : 1 + static_cast<int64_t>(random() % 300);
    }
    cases.push_back({program.name + " of seed " + std::to_string(seed),
                     program.text,
                     bound,
                     {fitting_sizes(program.text, bound, sizes),
                      fitting_sizes(program.text, bound, aligned_sizes(sizes, {"B", "H"}))},
                     program.ties ? whole_inputs(program.text, bound, seed) : std::vector<std::string>{},
                     "",
                     "",
                     1,
                     1e-4,
                     overrides});
  }
  run_gpu_cases(cases);
}

TEST_CASE("random blocks on a GPU", "[.gpu]") {
  auto [seed, count] = chosen_seeds(20001, 100);
  std::vector<GpuCase> cases;
  for (; count > 0; ++seed, --count) {
    const RandomBlock block = random_block(seed);
    cases.push_back({"block " + std::to_string(seed), block.text, {}, {block.dims}, {}, ""});
  }
  run_gpu_cases(cases);
}

}  // namespace coda::testing
