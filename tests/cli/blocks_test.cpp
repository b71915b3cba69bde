// Blocks planned, compiled and run on the host, against the f64 reference of their source.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "runtime/kernel.h"
#include "tests/cli/run_block.h"
#include "tests/source_root.h"

using namespace coda;
using namespace coda::testing;

namespace {

std::string text_of(const std::filesystem::path& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

void expect_right(const std::string& text, const Bindings& dims, int kernels) {
  for (uint64_t seed = 1; seed <= 2; ++seed) {
    const BlockRun run = run_block(text, dims, seed);
    INFO(run.message);
    REQUIRE(run.compiled);
    CHECK(run.right);
    CHECK(run.kernels == kernels);
  }
}

const std::string kMlp = text_of(source_root() + "/examples/mlp_block.coda");
const std::string kLlama = text_of(source_root() + "/examples/llama_block.coda");

/// Values for the symbols of a block that its facts leave open: small, ragged, heads of 8.
Bindings small_dims(const std::string& text) {
  const Bindings known{{"T", 5},  {"D", 22},  {"A", 19}, {"F", 13}, {"Hq", 3},
                       {"Hk", 2}, {"Hkv", 2}, {"Dh", 8}, {"N", 9}};
  Compilation shapes = compile({.path = "block.coda", .text = text, .stage = Stage::Elaborate});
  INFO(shapes.diagnostics->render_text());
  REQUIRE(shapes.program);
  Bindings dims;
  for (const Param& param : shapes.program->params) {
    for (const NamedDim& dim : param.dims) {
      for (const std::string& symbol : dim.extent.symbols()) {
        if (shapes.program->bound.contains(symbol)) continue;
        const auto it = known.find(symbol);
        dims[symbol] = it == known.end() ? 11 : it->second;
      }
    }
  }
  return dims;
}

}  // namespace

TEST_CASE("the examples' blocks are right on the host, ragged, with one row and with many") {
  expect_right(kMlp, {{"T", 37}, {"D", 45}, {"A", 19}, {"F", 51}}, 3);
  expect_right(kMlp, {{"T", 1}, {"D", 8}, {"A", 3}, {"F", 1}}, 3);
  expect_right(kMlp, {{"T", 301}, {"D", 129}, {"A", 64}, {"F", 65}}, 3);
  const Bindings heads{{"D", 40}, {"A", 24}, {"F", 53}, {"Hq", 3}, {"Hkv", 2}, {"Dh", 16}};
  for (const int64_t rows : {1, 7, 150}) {
    Bindings dims = heads;
    dims["T"] = rows;
    expect_right(kLlama, dims, 4);
  }
}

TEST_CASE("a block without rows writes nothing and is no error") {
  Compilation compilation = compile({.path = "mlp.coda", .text = kMlp, .target = "host"});
  REQUIRE(compilation.ok());
  auto kernel = prepare(std::make_shared<Image>(*compilation.take_image()), kHostDevice);
  REQUIRE(kernel.ok());
  const auto tensor = [](Sizes shape) { return *HostTensor::create(DType::BF16, shape); };
  const HostTensor x = tensor({0, 8}), attn = tensor({0, 4}), wo = tensor({8, 4}), gain = tensor({8}),
                   gate_up = tensor({6, 8}), down = tensor({8, 3}), y = tensor({0, 8});
  const Argument arguments[] = {x.view(), attn.view(), wo.view(), gain.view(), gate_up.view(), down.view(), y.view()};
  CHECK((*kernel)->launch(arguments, nullptr).ok());
  CHECK(*(*kernel)->workspace_bytes(arguments) == 0);
}

TEST_CASE("one compiled block serves all sizes, from any stride, in memory of its own or the caller's") {
  Compilation compilation = compile(
      {.path = "mlp.coda", .text = kMlp, .bindings = {{"T", 64}, {"D", 32}, {"A", 16}, {"F", 48}}, .target = "host"});
  REQUIRE(compilation.ok());
  CHECK(compilation.plan_image->bound.empty());
  const auto kernel = prepare(std::make_shared<Image>(*compilation.take_image()), kHostDevice);
  REQUIRE(kernel.ok());
  for (const int64_t t : {3, 200, 1}) {
    const auto filled = [](Sizes shape, double step) {
      HostTensor tensor = *HostTensor::create(DType::BF16, shape);
      for (int64_t i = 0; i < *element_count(shape); ++i) {
        store_element(tensor.view().data, DType::BF16, i, static_cast<double>(i * 7 % 11 - 5) * step);
      }
      return tensor;
    };
    const HostTensor x = filled({t, 10}, 0.1), attn = filled({t, 4}, 0.2), wo = filled({10, 4}, 0.1),
                     gain = filled({10}, 0.3), gate_up = filled({6, 10}, 0.1), down = filled({10, 3}, 0.2),
                     y = filled({t, 10}, 0), z = filled({t, 10}, 0);
    std::vector<Argument> arguments = {x.view(),       attn.view(), wo.view(), gain.view(),
                                       gate_up.view(), down.view(), y.view()};
    REQUIRE((*kernel)->launch(arguments, nullptr).ok());
    const auto bytes = (*kernel)->workspace_bytes(arguments);
    REQUIRE(bytes.ok());
    CHECK(*bytes > 0);
    std::vector<uint8_t> memory(static_cast<size_t>(*bytes) + kWorkspaceAlignment, 0xff);
    const auto at = (reinterpret_cast<uintptr_t>(memory.data()) + kWorkspaceAlignment - 1) & ~(kWorkspaceAlignment - 1);
    arguments.back() = z.view();
    REQUIRE((*kernel)->launch(arguments, nullptr, {reinterpret_cast<void*>(at), static_cast<size_t>(*bytes)}).ok());
    const auto first = y.storage(), second = z.storage();
    CHECK(std::equal(first.begin(), first.end(), second.begin(), second.end()));
    CHECK(std::any_of(first.begin(), first.end(), [](uint8_t byte) { return byte != 0; }));
  }
}

TEST_CASE("the blocks of the planner's tests are right on the host") {
  int right = 0;
  for (const auto& entry : std::filesystem::directory_iterator(source_root() + "/tests/plan/golden")) {
    const std::string name = entry.path().filename();
    if (entry.path().extension() != ".coda" || name.starts_with("fail_")) continue;
    const std::string text = text_of(entry.path());
    Bindings dims = small_dims(text);
    for (const int64_t rows : {5, 1}) {
      if (dims.contains("T")) dims["T"] = rows;
      const BlockRun run = run_block(text, dims, 3);
      INFO(name << "\n" << run.message);
      REQUIRE(run.compiled);
      CHECK(run.right);
      right += run.right;
    }
  }
  CHECK(right >= 2);
}

TEST_CASE("blocks planned for the sizes people run are right at small ragged ones") {
  const Bindings large{{"T", 8192}, {"D", 4096}, {"A", 4096}, {"F", 14336}, {"N", 6144}, {"Hq", 32}, {"V", 32064}};
  int right = 0;
  for (const auto& entry : std::filesystem::directory_iterator(source_root() + "/tests/plan/ablation")) {
    if (entry.path().extension() != ".coda") continue;
    const std::string text = text_of(entry.path());
    Bindings dims = small_dims(text);
    for (const int64_t rows : {5, 1}) {
      dims["T"] = rows;
      const BlockRun run = run_block(text, dims, {.seed = 4, .slack = 1.5, .planned_for = large, .inputs = {}});
      INFO(entry.path().filename() << "\n" << run.message);
      REQUIRE(run.compiled);
      CHECK(run.right);
      right += run.right;
    }
  }
  CHECK(right >= 30);
}

TEST_CASE("a norm's mean and variance in one pass hold far from zero") {
  const auto text = [](const std::string& type) {
    return "block far(x: " + type + "[T, D], attn: " + type + "[T, A], const wo: " + type + "[D, A], const g: " + type +
           "[D], const b: " + type + "[D],\n          const w: " + type + "[F, D]) -> (n: " + type +
           "[T, D], z: " + type +
           "[T, F]) {\n  let h = x + attn @ wo.T\n  let m = layernorm(h, g, b)\n  n = m\n  z = m @ w.T\n}\n";
  };
  const auto check = [&](const std::string& type, const std::string& offset, double slack) {
    for (const int64_t rows : {37, 1}) {
      const BlockRun run =
          run_block(text(type), {{"T", rows}, {"D", 1037}, {"A", 19}, {"F", 51}},
                    {.slack = slack, .planned_for = {{"T", 8192}, {"D", 4096}, {"F", 14336}}, .inputs = {offset}});
      INFO(type << " " << offset << "\n" << run.message);
      REQUIRE(run.compiled);
      CHECK(run.right);
      CHECK(run.message.find("law moments") != std::string::npos);
    }
  };
  check("f32", "x=normal(0, 1)", 4);
  // h itself is kept with 2^-24 of 10000, which is what is left of a deviation of 1; a difference of squares would
  // have nothing left.
  check("f32", "x=normal(10000, 1)", 16);
  check("f32", "x=normal(-10000, 1)", 16);
  check("f32", "x=normal(-10000, 100)", 4);
  check("bf16", "x=normal(0, 1)", 1);
  check("bf16", "x=normal(-10, 1)", 4);
  check("bf16", "x=normal(10000, 1000)", 4);
}
