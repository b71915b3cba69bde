// Blocks: one GEMM is a kernel, several are planned, compiled in parallel, and make one image.
#include <catch2/catch.hpp>

#include "coda/coda.h"
#include "coda/coda_c.h"
#include "runtime/jit/jit.h"
#include "tests/golden.h"
#include "tests/source_root.h"

using namespace coda;

namespace {

CompileRequest llama(const std::string& target, Stage stage, const Bindings& bindings) {
  return {.path = source_root() + "/examples/llama_block.coda", .bindings = bindings, .target = target, .stage = stage};
}

const Bindings kSizes{{"T", 8192}, {"D", 4096}, {"A", 4096}, {"F", 14336}, {"Hq", 32}, {"Hkv", 8}, {"Dh", 128}};

}  // namespace

TEST_CASE("a block whose plan can't be compiled says which kernel and why", "[golden]") {
  golden::check_folder("tests/jit/golden", [](const std::string& name, const std::string& text) {
    Compilation result = compile({.path = name, .text = text, .target = "host", .stage = Stage::Lower});
    CHECK_FALSE(result.ok());
    CHECK(result.program);
    return result.diagnostics->render_text();
  });
}

TEST_CASE("a block that needs to know how wide its heads are says so, and how many there are it need not know") {
  CompileRequest request{.path = source_root() + "/examples/llama_block.coda",
                         .bindings = {{"T", 4096}, {"D", 4096}, {"A", 4096}, {"F", 12288}},
                         .target = "host",
                         .stage = Stage::Lower};
  const Compilation open = compile(request);
  CHECK_FALSE(open.ok());
  CHECK(open.diagnostics->render_text().find("with `--dim Dh=32`") != std::string::npos);
  request.bindings["Dh"] = 128;
  CHECK(compile(request).ok());
  request.path = source_root() + "/tests/grad/plans/qwen3.coda";
  request.routine = "qwen3_grad";
  CHECK(compile(request).ok());
}

TEST_CASE("a block of one GEMM is a kernel") {
  const std::string text = "block f(x: bf16[M, K], w: bf16[N, K]) -> (y: bf16[M, N]) {\n    y = relu(x @ w.T)\n}\n";
  Compilation result = compile({.path = "f.coda", .text = text, .target = "host", .stage = Stage::Assemble});
  CHECK(result.image);
  CHECK(std::holds_alternative<KernelImage>(*result.take_image()));
}

TEST_CASE("a block's kernels stay open in their sizes but for a head's size") {
  Compilation lowered = compile(llama("host", Stage::Lower, kSizes));
  INFO(lowered.diagnostics->render_text());
  REQUIRE(lowered.ok());
  REQUIRE(lowered.kernels.size() == 4);
  CHECK_FALSE(lowered.plan_image);
  for (size_t k = 0; k < 3; ++k) CHECK(lowered.kernels[k].epilogue->program.bound.empty());
  CHECK(lowered.kernels[3].epilogue->program.bound == Bindings{{"Dh", 128}});
  CHECK(lowered.kernels[3].epilogue->regions.size() == 3);
}

TEST_CASE("a block's image holds its kernels, in the order of the plan, and reads back") {
  CompileRequest request = llama("host", Stage::Assemble, kSizes);
  request.dumps = {Dump::Epilogue, Dump::Llvm};
  Compilation result = compile(request);
  INFO(result.diagnostics->render_text());
  REQUIRE(result.plan_image);
  CHECK(result.plan_image->steps.size() == 4);
  CHECK(result.plan_image->bound == Bindings{{"Dh", 128}});
  CHECK(result.plan_image->params.size() == result.program->params.size());
  CHECK(result.dumps[Dump::Llvm].find("// kernel llama_3") != std::string::npos);
  const auto bytes = to_bytes(*result.plan_image);
  const auto back = plan_from_bytes(bytes);
  INFO(back.status().message());
  REQUIRE(back.ok());
  CHECK(to_bytes(*back) == bytes);
  CHECK(to_bytes(*compile(request).plan_image) == bytes);  // however the threads ran
}

TEST_CASE("a block compiles for sm_90a, its kernels in parallel") {
  Compilation result = compile(llama("sm_90a", Stage::Code, kSizes));
  INFO(result.diagnostics->render_text());
  REQUIRE(result.plan_image);
  double total = 0;
  for (const StepTime& step : result.times) total += step.milliseconds;
  WARN("block of four kernels to PTX: " << total << " ms");
  for (const PlanStep& step : result.plan_image->steps) CHECK(step.kernel.target == "sm_90a");
}

TEST_CASE("compiling on another thread gives the same, also from C") {
  const std::string text = "kernel f(x: bf16[M, K], w: bf16[N, K]) -> (y: bf16[M, N]) {\n    y = relu(x @ w.T)\n}\n";
  const auto now = coda::compile_text({.text = text});
  REQUIRE(now.ok());
  std::vector<std::shared_future<Expected<std::shared_ptr<const Image>>>> later;
  for (int i = 0; i < 4; ++i) later.push_back(compile_text_async({.text = text}));
  for (const auto& future : later) {
    REQUIRE(future.get().ok());
    CHECK(to_bytes(std::get<KernelImage>(**future.get())) == to_bytes(std::get<KernelImage>(**now)));
  }
  CHECK_FALSE(compile_text_async({.text = "kernel"}).get().ok());

  coda_compilation* compilation = nullptr;
  coda_image* image = nullptr;
  REQUIRE(coda_compile_async(text.c_str(), nullptr, &compilation) == CODA_OK);
  REQUIRE(coda_compilation_finish(compilation, &image) == CODA_OK);
  CHECK(std::string(coda_image_name(image)) == "f");
  coda_image_free(image);
  REQUIRE(coda_compile_async("kernel", nullptr, &compilation) == CODA_OK);
  CHECK(coda_compilation_finish(compilation, &image) == CODA_INVALID_ARGUMENT);
  CHECK(std::string(coda_error()).find("error[E") != std::string::npos);
  REQUIRE(coda_compile_async(text.c_str(), nullptr, &compilation) == CODA_OK);
  CHECK(coda_compilation_finish(compilation, nullptr) == CODA_OK);
  CHECK(coda_compile_async(nullptr, nullptr, &compilation) == CODA_INVALID_ARGUMENT);
  CHECK(coda_compilation_done(nullptr) == 0);
}
