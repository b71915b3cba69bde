// The C interface, against the fake driver that launch_test.cpp chooses.
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <string>

#include "coda/coda_c.h"
#include "runtime/device.h"
#include "tests/runtime/count_allocations.h"
#include "tests/runtime/fake_cuda/fake_cuda.h"
#include "tests/runtime/sample_plan.h"

using namespace coda;

namespace {

coda_image* sample() {
  KernelImage image = testing::sample_image();
  image.code_kind = CodeKind::Cubin;
  const auto bytes = to_bytes(image);
  coda_image* out = nullptr;
  REQUIRE(coda_image_from_bytes(bytes.data(), bytes.size(), &out) == CODA_OK);
  return out;
}

struct CTensor {
  CTensor(coda_dtype dtype, std::vector<int64_t> extents) : shape(std::move(extents)) {
    Sizes sizes;
    for (const int64_t extent : shape) sizes.push_back(extent);
    auto made = DeviceTensor::create(**Device::get(0), static_cast<DType>(dtype), sizes);
    REQUIRE(made.ok());
    memory = std::move(*made);
    argument.dtype = dtype;
    argument.data = memory.view.data;
    argument.rank = static_cast<int32_t>(shape.size());
    argument.shape = shape.data();
  }
  std::vector<int64_t> shape;
  DeviceTensor memory;
  coda_argument argument{};
};

}  // namespace

TEST_CASE("the C interface loads, describes, prepares and launches") {
  fake_cuda::reset();
  coda_image* image = sample();
  CHECK(coda_abi_version() == CODA_ABI_VERSION);
  CHECK(std::string(coda_image_name(image)) == "gate_up");
  CHECK(std::string(coda_image_target(image)) == "sm_90a");
  REQUIRE(coda_image_param_count(image) == 5);
  coda_param param{};
  REQUIRE(coda_image_param(image, 3, &param) == CODA_OK);
  CHECK(std::string(param.name) == "scale");
  CHECK(param.role == CODA_SCALAR);
  CHECK(param.has_default == 1);
  CHECK(std::string(coda_image_param_dim(image, 1, 0)) == "2*F");
  CHECK(coda_image_param_dim(image, 1, 2) == nullptr);
  CHECK(coda_image_param(image, 5, &param) == CODA_INVALID_ARGUMENT);

  const std::string path = std::filesystem::temp_directory_path() / ("coda-c-" + std::to_string(getpid()));
  REQUIRE(coda_image_save(image, path.c_str()) == CODA_OK);
  coda_image* again = nullptr;
  REQUIRE(coda_image_load(path.c_str(), &again) == CODA_OK);
  coda_image_free(again);
  std::filesystem::remove(path);

  coda_kernel* kernel = nullptr;
  REQUIRE(coda_prepare(image, 0, nullptr, 0, &kernel) == CODA_OK);
  coda_image_free(image);

  CTensor x(CODA_BF16, {300, 64}), w(CODA_BF16, {1024, 64}), rstd(CODA_F32, {300}), act(CODA_BF16, {300, 512});
  act.argument.name = "act";
  coda_argument arguments[] = {x.argument, w.argument, rstd.argument, act.argument};
  REQUIRE(coda_launch(kernel, arguments, 4, nullptr) == CODA_OK);
  CHECK(fake_cuda::snapshot().launches.size() == 1);
  AllocationCount count;
  const coda_code code = coda_launch(kernel, arguments, 4, nullptr);
  CHECK(count.stop() == 0);
  CHECK(code == CODA_OK);

  auto fails = [&](coda_argument* list, size_t size) {
    CHECK(coda_launch(kernel, list, size, nullptr) == CODA_INVALID_ARGUMENT);
    return std::string(coda_error());
  };
  CHECK(fails(arguments, 3) == "argument 'act': a tensor is expected, none was given");
  arguments[3].name = "out";
  CHECK(fails(arguments, 4) == "kernel 'gate_up' has no parameter 'out'; it has x, w, rstd, scale, act");
  arguments[3].name = "x";
  CHECK(fails(arguments, 4) == "argument 'x': it is given twice");
  arguments[3] = act.argument;
  arguments[0].dtype = 99;
  CHECK(fails(arguments, 4) == "argument 'x': its type has the unknown number 99");
  arguments[0] = x.argument;
  arguments[0].rank = 9;
  CHECK(fails(arguments, 4).find("it has 9 axes") != std::string::npos);
  arguments[0].rank = 2;
  arguments[0].shape = nullptr;
  CHECK_FALSE(fails(arguments, 4).empty());
  arguments[0] = x.argument;
  const int64_t strides[] = {1, 300};
  arguments[0].strides = strides;
  CHECK(fails(arguments, 4).find("stride of its last axis is 300") != std::string::npos);
  arguments[0] = x.argument;
  arguments[0].data = nullptr;
  CHECK(fails(arguments, 4) == "argument 'x': its address is null, though it has elements");
  arguments[0].data = static_cast<char*>(x.argument.data) + 1;
  CHECK(fails(arguments, 4) == "argument 'x': its address is not a multiple of the 2 bytes of bf16");
  alignas(16) static char host[1 << 16];
  arguments[0].data = host;
  CHECK(fails(arguments, 4).find("'x': its address is not device memory") != std::string::npos);
  arguments[0] = x.argument;
  for (const int64_t size : {INT64_MAX, INT64_MIN, int64_t{-1}, int64_t{1} << 62}) {
    const int64_t shape[] = {size, 64};
    arguments[0].shape = shape;
    CHECK(fails(arguments, 4).find("address space") != std::string::npos);
  }
  CHECK(fails(nullptr, 4) == "a pointer is null");
  coda_kernel_free(kernel);
}

TEST_CASE("the C interface reports what it can't do") {
  coda_image* image = nullptr;
  CHECK(coda_image_load("/nonexistent", &image) == CODA_NOT_FOUND);
  CHECK(std::string(coda_error()).find("/nonexistent") != std::string::npos);
  CHECK(coda_image_from_bytes("junk", 4, &image) == CODA_CORRUPT);
  CHECK(coda_image_load(nullptr, &image) == CODA_INVALID_ARGUMENT);
  image = sample();
  coda_kernel* kernel = nullptr;
  CHECK(coda_prepare(image, 7, nullptr, 0, &kernel) == CODA_NOT_FOUND);
  const coda_binding unnamed = {nullptr, 3};
  CHECK(coda_prepare(image, 0, &unnamed, 1, &kernel) == CODA_INVALID_ARGUMENT);
  CHECK(kernel == nullptr);
  coda_image_free(image);
  coda_image_free(nullptr);
  coda_kernel_free(nullptr);
}

TEST_CASE("the C interface makes no difference between a kernel and a block") {
  fake_cuda::reset();
  PlanImage plan = testing::sample_plan(3);
  plan.steps[0].once = true;
  const auto bytes = to_bytes(plan);
  coda_image* image = nullptr;
  REQUIRE(coda_image_from_bytes(bytes.data(), bytes.size(), &image) == CODA_OK);
  CHECK(std::string(coda_image_name(image)) == "chain");
  CHECK(coda_image_param_count(image) == 7);
  coda_kernel* kernel = nullptr;
  REQUIRE(coda_prepare(image, 0, nullptr, 0, &kernel) == CODA_OK);
  coda_image_free(image);

  CTensor x(CODA_BF16, {300, 64}), w1(CODA_BF16, {256, 64}), w2(CODA_BF16, {512, 128}), w3(CODA_BF16, {144, 256}),
      rstd(CODA_F32, {300}), y(CODA_BF16, {300, 72}), workspace(CODA_U8, {1 << 20});
  y.argument.name = "y";
  const coda_argument arguments[] = {x.argument, w1.argument, w2.argument, w3.argument, rstd.argument, y.argument};
  const auto launches = [] { return fake_cuda::snapshot().launches.size(); };
  size_t needed = 0;
  REQUIRE(coda_workspace_bytes(kernel, arguments, 6, &needed) == CODA_OK);
  CHECK(needed == 300 * 256 * 2);
  REQUIRE(coda_fold(kernel, arguments, 6, nullptr) == CODA_OK);
  CHECK(launches() == 1);
  REQUIRE(coda_launch(kernel, arguments, 6, nullptr) == CODA_OK);
  CHECK(launches() == 3);
  const auto base = (reinterpret_cast<uintptr_t>(workspace.argument.data) + 255) / 256 * 256;
  REQUIRE(coda_launch_in(kernel, arguments, 6, nullptr, reinterpret_cast<void*>(base), needed) == CODA_OK);
  CHECK(coda_launch_in(kernel, arguments, 6, nullptr, reinterpret_cast<void*>(base), 16) == CODA_INVALID_ARGUMENT);
  REQUIRE(coda_weights_changed(kernel) == CODA_OK);
  coda_recording* recording = nullptr;
  REQUIRE(coda_record(kernel, arguments, 6, &recording) == CODA_OK);
  CHECK(launches() == 6);  // folded anew
  REQUIRE(coda_recording_launch(recording, nullptr) == CODA_OK);
  CHECK(launches() == 8);
  coda_recording_free(recording);
  coda_recording_free(nullptr);
  CHECK(coda_recording_launch(nullptr, nullptr) == CODA_INVALID_ARGUMENT);
  CHECK(coda_record(kernel, arguments, 5, &recording) == CODA_INVALID_ARGUMENT);
  CHECK(coda_workspace_bytes(kernel, arguments, 6, nullptr) == CODA_INVALID_ARGUMENT);
  CHECK(coda_weights_changed(nullptr) == CODA_INVALID_ARGUMENT);
  coda_kernel_free(kernel);
}
