// A plan's stored form, and what is refused in one.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "runtime/format/image.h"
#include "tests/runtime/hostile_bytes.h"
#include "tests/runtime/sample_plan.h"

using namespace coda;

TEST_CASE("a plan survives its stored form, and a file tells what it holds") {
  PlanImage plan = testing::sample_plan(3);
  plan.steps[0].once = false;
  const auto bytes = to_bytes(plan);
  const auto back = plan_from_bytes(bytes);
  INFO(back.status().message());
  REQUIRE(back.ok());
  CHECK(to_bytes(*back) == bytes);
  CHECK(back->steps.size() == 3);
  CHECK(back->steps[1].kernel.name == "link2");
  CHECK(back->steps[1].arguments == plan.steps[1].arguments);
  CHECK(back->tensors[0].extents[1] == Dim::symbol("D1"));

  const std::string path = std::filesystem::temp_directory_path() / ("coda-plan-" + std::to_string(getpid()));
  REQUIRE(save_image(plan, path).ok());
  auto loaded = load_image(path);
  REQUIRE(loaded.ok());
  CHECK(std::holds_alternative<PlanImage>(*loaded));
  CHECK(signature(*loaded).name == "chain");
  REQUIRE(save_image(plan.steps[0].kernel, path).ok());
  loaded = load_image(path);
  REQUIRE(loaded.ok());
  CHECK(std::holds_alternative<KernelImage>(*loaded));
  std::filesystem::remove(path);
}

TEST_CASE("every truncation and every changed byte of a plan is refused") {
  const auto bytes = to_bytes(testing::sample_plan(2));
  for (size_t length = 0; length < bytes.size(); length += 7) {
    CHECK(any_image_from_bytes(std::span(bytes).first(length)).status().code() == Code::Corrupt);
  }
  for (size_t i = 0; i < bytes.size(); ++i) {
    auto changed = bytes;
    changed[i] ^= static_cast<uint8_t>(1u << (i % 8));
    CHECK(any_image_from_bytes(changed).status().code() == Code::Corrupt);
  }
}

TEST_CASE("hostile bytes of a plan under a right checksum are refused without harm") {
  const auto bytes = to_bytes(testing::sample_plan(2));
  const int refused = testing::count_refusals(bytes, [](const std::vector<uint8_t>& changed) {
    const auto plan = plan_from_bytes(changed);
    if (plan.ok()) CHECK(check_plan(*plan).ok());
    return !plan.ok();
  });
  CHECK(refused > 1000);
}

TEST_CASE("what contradicts itself in a plan is named") {
  REQUIRE(check_plan(testing::sample_plan(3)).ok());
  const auto refuse = [](const char* text, auto change) {
    PlanImage plan = testing::sample_plan(3);
    change(plan);
    const Status status = check_plan(plan);
    INFO(status.message());
    CHECK(status.code() == Code::Corrupt);
    CHECK(status.message().find(text) != std::string::npos);
    CHECK_FALSE(plan_from_bytes(to_bytes(plan)).ok());
  };
  const int first = static_cast<int>(testing::sample_plan(3).params.size());
  refuse("no such tensor", [&](PlanImage& p) { p.steps[1].arguments[0] = first + 2; });
  refuse("no such tensor", [](PlanImage& p) { p.steps[1].arguments[0] = -1; });
  refuse("another number of arguments", [](PlanImage& p) { p.steps[1].arguments.pop_back(); });
  refuse("read before it is written", [](PlanImage& p) { std::swap(p.steps[0], p.steps[1]); });
  refuse("written twice", [](PlanImage& p) { p.steps.insert(p.steps.begin(), p.steps[0]); });
  refuse("no kernel writes 'y'", [](PlanImage& p) { p.steps.pop_back(); });
  refuse("writes an input", [](PlanImage& p) { p.params.back().role = ParamSpec::Role::In; });
  refuse("another type", [](PlanImage& p) { p.tensors[0].dtype = DType::F16; });
  refuse("another type", [](PlanImage& p) { p.tensors[0].extents[1] = Dim::symbol("D2"); });
  refuse("another type", [](PlanImage& p) { p.params[0].extents.pop_back(); });
  refuse("a scalar and a tensor", [](PlanImage& p) { std::swap(p.steps[0].arguments[2], p.steps[0].arguments[3]); });
  refuse("another target", [](PlanImage& p) { p.target = "host"; });
  refuse("that the plan lacks", [](PlanImage& p) { p.steps[0].kernel.bound["D1"] = 8; });
  refuse("an output is made once", [](PlanImage& p) {
    for (auto& step : p.steps) step.once = true;
  });
  refuse("changes from launch to launch", [](PlanImage& p) { p.steps[1].once = true; });
  refuse("not kept between kernels", [](PlanImage& p) { p.tensors[0].extents.resize(9, Dim(1)); });
  PlanImage once = testing::sample_plan(3);
  once.steps[0].once = true;
  CHECK(check_plan(once).ok());
  once.steps[1].once = true;
  CHECK(check_plan(once).ok());
}
