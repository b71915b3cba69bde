#include "runtime/bind.h"

#include <bit>
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/runtime/sample_image.h"

using namespace coda;

namespace {

/// Arguments of the sample at M x F x K. Addresses are never followed, so they need no memory behind them.
struct Call {
  explicit Call(int64_t m = 300, int64_t f = 512, int64_t k = 64) {
    arguments = {tensor(0x1000000, DType::BF16, {m, k}), tensor(0x2000000, DType::BF16, {2 * f, k}),
                 tensor(0x3000000, DType::F32, {m}), std::monostate(), tensor(0x4000000, DType::BF16, {m, f})};
  }
  static TensorView tensor(uintptr_t address, DType dtype, Sizes shape) {
    return {reinterpret_cast<void*>(address), dtype, shape, contiguous_strides(shape), kHostDevice};
  }
  TensorView& view(size_t i) { return std::get<TensorView>(arguments[i]); }
  std::vector<Argument> arguments;
};

LaunchPlan plan_of(KernelImage image) {
  auto plan = LaunchPlan::create(std::make_shared<KernelImage>(std::move(image)));
  INFO(plan.status().message());
  REQUIRE(plan.ok());
  return std::move(*plan);
}

std::string failure(const LaunchPlan& plan, Call& call) {
  Binding binding;
  const Status status = plan.bind(call.arguments, kHostDevice, binding);
  CHECK(status.code() == Code::InvalidArgument);
  return status.message();
}

}  // namespace

TEST_CASE("binding solves symbols and fills the words") {
  const LaunchPlan plan = plan_of(testing::sample_image());
  Call call;
  call.view(0).strides[0] = 72;
  Binding binding;
  REQUIRE(plan.bind(call.arguments, kHostDevice, binding).ok());
  CHECK(binding.words[0] == 0x1000000);
  CHECK(binding.words[1] == 72);
  CHECK(binding.words[3] == 64);
  CHECK(binding.words[5] == std::bit_cast<uint32_t>(1.5f));
  CHECK(binding.words[8] == 300);
  CHECK(binding.words[9] == 512);
  CHECK(binding.words[10] == 64);
  CHECK(binding.words[12] == 1);
  CHECK(binding.rows == 300);
  CHECK(binding.depth == 64);
  CHECK(binding.region_columns == std::vector<int64_t>{512});
  CHECK(binding.row_tiles == 4);  // 3 tiles of 128 rows, rounded up to clusters of 2
  CHECK(binding.tiles == 16);
  CHECK(binding.workspace_bytes == std::vector<int64_t>{300 * 4 + 3 * 4 * 512});
  CHECK(binding.has_output);

  void* const workspaces[] = {reinterpret_cast<void*>(0x99)};
  plan.set_workspaces(workspaces, binding);
  plan.set_tensor_map_bits(3, binding);
  CHECK(binding.words[11] == 0x99);
  CHECK(binding.words[13] == 3);

  call.arguments[3] = 2.0;
  REQUIRE(plan.bind(call.arguments, kHostDevice, binding).ok());
  CHECK(binding.words[5] == std::bit_cast<uint32_t>(2.0f));
}

TEST_CASE("extents of zero bind") {
  const LaunchPlan plan = plan_of(testing::sample_image());
  Binding binding;
  for (const auto& [m, f, k] : {std::tuple(0, 512, 64), {300, 0, 64}, {300, 512, 0}, {0, 0, 0}}) {
    Call call(m, f, k);
    REQUIRE(plan.bind(call.arguments, kHostDevice, binding).ok());
    CHECK(binding.has_output == (m > 0 && f > 0));
  }
  Call call(0, 512, 64);
  call.view(0).data = call.view(4).data = nullptr;
  CHECK(plan.bind(call.arguments, kHostDevice, binding).ok());
}

TEST_CASE("a mismatch names the argument, what was given and what was expected") {
  const LaunchPlan plan = plan_of(testing::sample_image());
  auto message = [&](auto change) {
    Call call;
    change(call);
    return failure(plan, call);
  };
  CHECK(message([](Call& c) { c.view(4).shape[1] = 500; }) ==
        "argument 'act': axis 1 is 500, expected F = 512 (from axis 0 of 'w')");
  CHECK(message([](Call& c) {
          c.view(1) = Call::tensor(0x2000000, DType::BF16, {1023, 64});
        }) == "argument 'w': axis 0 is 1023, but no whole number F makes 2*F that");
  CHECK(message([](Call& c) { c.view(1).shape[1] = 63; }) ==
        "argument 'w': axis 1 is 63, expected K = 64 (from axis 1 of 'x')");
  CHECK(message([](Call& c) { c.view(0).dtype = DType::F16; }) == "argument 'x': its type is f16, expected bf16");
  CHECK(message([](Call& c) {
          c.view(2) = Call::tensor(0x3000000, DType::F32, {300, 1});
        }) == "argument 'rstd': its shape is [300, 1], expected [M]");
  CHECK(message([](Call& c) { c.view(2).device = 1; }) ==
        "argument 'rstd': it is in memory of CUDA device 1, expected in host memory");
  CHECK(message([](Call& c) { c.view(0).data = nullptr; }) ==
        "argument 'x': its address is null, though it has elements");
  CHECK(message([](Call& c) { c.view(2).data = reinterpret_cast<void*>(0x3000002); }) ==
        "argument 'rstd': its address is not a multiple of the 4 bytes of f32");
  CHECK(message([](Call& c) {
          c.view(0).strides = {1, 300};
        }).find("stride of its last axis is 300, expected 1") != std::string::npos);
  CHECK(message([](Call& c) { c.view(0).strides[0] = -64; }).find("negative stride -64") != std::string::npos);
  CHECK(message([](Call& c) { c.view(4).strides[0] = 511; }).find("share memory") != std::string::npos);
  CHECK(message([](Call& c) { c.view(4).data = c.view(0).data; }) ==
        "argument 'act': it is written, but shares memory with argument 'x'");
  CHECK(message([](Call& c) { c.view(0).shape[0] = INT64_MAX; }).find("address space") != std::string::npos);
  CHECK(message([](Call& c) { c.view(0).shape[0] = -1; }).find("address space") != std::string::npos);
  CHECK(message([](Call& c) { c.view(0).strides = {1}; }) == "argument 'x': 1 strides were given for 2 axes");
  CHECK(message([](Call& c) { c.arguments[0] = 1.0; }) == "argument 'x': a tensor is expected, none was given");
  CHECK(message([](Call& c) { c.arguments[3] = c.arguments[0]; }) ==
        "argument 'scale': a number is expected, a tensor was given");
  CHECK(message([](Call& c) { c.arguments[3] = 1e300; }) == "argument 'scale': its value does not fit f32");
  CHECK(message([](Call& c) { c.arguments.pop_back(); }) == "kernel 'gate_up' takes 5 arguments, 4 were given");
  Call ragged(300, 512, 60);
  CHECK(failure(plan, ragged) == "kernel 'gate_up' requires K % 8 = 0, but K = 60 (from axis 1 of 'x')");
}

TEST_CASE("outputs may be column ranges of one buffer, but not overlapping ones") {
  KernelImage image = testing::sample_image();
  image.params.push_back({"second", ParamSpec::Role::Out, DType::BF16, image.params[4].extents, {}});
  const LaunchPlan plan = plan_of(std::move(image));
  Call call;
  call.arguments.push_back(call.arguments[4]);
  call.view(4).strides[0] = call.view(5).strides[0] = 1024;
  Binding binding;
  auto shifted = [&](int64_t elements) {
    call.view(5).data = reinterpret_cast<void*>(0x4000000 + 2 * elements);
    return plan.bind(call.arguments, kHostDevice, binding).ok();
  };
  CHECK(shifted(512));
  CHECK(shifted(1024 * 3 + 512));
  CHECK_FALSE(shifted(511));
  CHECK_FALSE(shifted(513));
  CHECK_FALSE(shifted(0));
  CHECK(shifted(1024 * 300));
  call.view(5).strides[0] = 1000;
  CHECK_FALSE(shifted(512));
}

TEST_CASE("integer scalars are checked against their type, and defaults are optional") {
  KernelImage image = testing::sample_image();
  image.params[3] = {"count", ParamSpec::Role::Scalar, DType::I32, {}, {}};
  const LaunchPlan plan = plan_of(std::move(image));
  Call call;
  Binding binding;
  auto with = [&](Argument value) {
    call.arguments[3] = value;
    return plan.bind(call.arguments, kHostDevice, binding);
  };
  CHECK(with(int64_t{-5}).ok());
  CHECK(binding.words[5] == -5);
  CHECK(with(3.0).ok());
  CHECK(binding.words[5] == 3);
  CHECK(with(3.5).message() == "argument 'count': its value 3.500000 is not a whole number, expected i32");
  CHECK(with(int64_t{1} << 31).message() == "argument 'count': its value 2147483648 does not fit i32");
  CHECK_FALSE(with(1e300).ok());
  CHECK_FALSE(with(std::nan("")).ok());
  CHECK(with(std::monostate()).message() == "argument 'count': it is not given and has no default");
}

TEST_CASE("symbols come from facts, from what was compiled in, and from what is given") {
  KernelImage image = testing::sample_image();
  const Dim h = Dim::symbol("H"), d = Dim::symbol("Dh");
  image.params[4].extents = {Dim::symbol("M"), h * d};
  image.words.push_back({WordSpec::Kind::Extent, -1, -1, h});
  CHECK(LaunchPlan::create(std::make_shared<KernelImage>(image)).status().message() ==
        "kernel 'gate_up': no argument's shape determines Dh; give its value when preparing the kernel "
        "(e.g. --dim Dh=...)");
  Call call;
  Binding binding;

  KernelImage fact = image;
  fact.facts.push_back({d, Dim(128), {}, "="});
  LaunchPlan plan = plan_of(fact);
  REQUIRE(plan.bind(call.arguments, kHostDevice, binding).ok());
  CHECK(binding.words.back() == 4);

  KernelImage bound = image;
  bound.bound = {{"Dh", 64}};
  plan = plan_of(bound);
  REQUIRE(plan.bind(call.arguments, kHostDevice, binding).ok());
  CHECK(binding.words.back() == 8);
  call.view(4) = Call::tensor(0x4000000, DType::BF16, {300, 500});
  CHECK(failure(plan, call).find("no whole number H makes Dh*H that") != std::string::npos);

  auto given = LaunchPlan::create(std::make_shared<KernelImage>(image), {{"Dh", 0}});
  REQUIRE(given.ok());
  CHECK(failure(*given, call).find("do not determine H") != std::string::npos);
  CHECK_FALSE(LaunchPlan::create(std::make_shared<KernelImage>(bound), {{"Dh", 32}}).ok());
}

TEST_CASE("conditions report alignment, unit strides and multiples") {
  const LaunchPlan plan = plan_of(testing::sample_image());
  Binding binding;
  auto bits = [&](auto change) {
    Call call(300, 512, 64);
    change(call);
    REQUIRE(plan.bind(call.arguments, kHostDevice, binding).ok());
    return binding.words[12];
  };
  CHECK(bits([](Call&) {}) == 1);
  CHECK(bits([](Call& c) { c.view(4).data = reinterpret_cast<void*>(0x4000008); }) == 0);
  CHECK(bits([](Call& c) { c.view(4).strides[0] = 516; }) == 0);
  CHECK(bits([](Call& c) {
          c = Call(1, 512, 64);
          c.view(4).strides[0] = 516;
        }) == 1);
  CHECK(bits([](Call& c) {
          c = Call(300, 510, 64);
          c.view(4).strides[0] = 512;
        }) == 0);
}
