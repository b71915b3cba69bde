// The runtime on a real GPU, with a small kernel written by hand: y = a * x, and a workspace word in which every CTA
// counts itself and the last one puts zero back. Skipped where there is no driver.
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdio>
#include <thread>

#include "runtime/assemble.h"
#include "runtime/device.h"
#include "runtime/kernel.h"
#include "runtime/tensor_map.h"
#include "tests/device/gpu.h"

using namespace coda;
using testing::gpu;

namespace {

// Words: x, y, a, N, workspace, tensor-map bits. The first parameter is a tensor map that it does not use.
std::string ptx_for(const std::string& target) {
  return ".version 8.0\n.target " + target +
         "\n.address_size 64\n"
         ".visible .entry scale(.param .align 64 .b8 map[128], .param .align 8 .b8 words[48]) {\n"
         "  .reg .pred %p<3>; .reg .b32 %r<8>; .reg .b64 %rd<10>; .reg .f32 %f<4>;\n"
         "  ld.param.u64 %rd1, [words]; ld.param.u64 %rd2, [words+8]; ld.param.f32 %f1, [words+16];\n"
         "  ld.param.u64 %rd3, [words+24]; ld.param.u64 %rd4, [words+32];\n"
         "  mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x; mov.u32 %r4, %nctaid.x;\n"
         "  mad.lo.u32 %r5, %r1, %r2, %r3; cvt.u64.u32 %rd5, %r5;\n"
         "  mul.lo.u32 %r6, %r2, %r4; cvt.u64.u32 %rd6, %r6;\n"
         "LOOP:\n"
         "  setp.ge.u64 %p1, %rd5, %rd3; @%p1 bra DONE;\n"
         "  shl.b64 %rd7, %rd5, 2; add.u64 %rd8, %rd1, %rd7; ld.global.f32 %f2, [%rd8];\n"
         "  mul.f32 %f3, %f2, %f1; add.u64 %rd8, %rd2, %rd7; st.global.f32 [%rd8], %f3;\n"
         "  add.u64 %rd5, %rd5, %rd6; bra LOOP;\n"
         "DONE:\n"
         "  setp.ne.u32 %p2, %r3, 0; @%p2 bra END;\n"
         "  sub.u32 %r7, %r4, 1; atom.global.inc.u32 %r7, [%rd4], %r7;\n"
         "END:\n  ret;\n}\n";
}

KernelImage scale_image(const Device& device) {
  const Dim n = Dim::symbol("N");
  KernelImage image;
  image.name = image.entry = "scale";
  image.target = device.arch();
  image.params = {{"x", ParamSpec::Role::In, DType::F32, {n}, {}},
                  {"y", ParamSpec::Role::Out, DType::F32, {n}, {}},
                  {"a", ParamSpec::Role::Scalar, DType::F32, {}, {}}};
  image.code_kind = CodeKind::Ptx;
  const std::string ptx = ptx_for(device.arch());
  image.code.assign(ptx.begin(), ptx.end());
  image.rows = Dim(1);
  image.region_columns = {n};
  image.region_segments = {1};
  image.tile_rows = 1;
  image.tile_columns = 256;
  image.threads = 128;
  image.shared_bytes = 100 * 1024;
  using Kind = WordSpec::Kind;
  image.words = {{Kind::Pointer, 0, -1, {}}, {Kind::Pointer, 1, -1, {}},   {Kind::Scalar, 2, -1, {}},
                 {Kind::Extent, -1, -1, n},  {Kind::Workspace, 0, -1, {}}, {Kind::TensorMaps}};
  TensorMapSpec map;
  map.param = 0;
  map.axes = {{n, 1, 0, 1, 32}};
  image.tensor_maps = {map};
  image.workspaces = {{Dim(4), {}, {}, 0, 0, 0, true}};
  return image;
}

struct Call {
  Call(const Device& device, int64_t n, double a) : device(device) {
    auto host = HostTensor::create(DType::F32, {n});
    REQUIRE(host.ok());
    for (int64_t i = 0; i < n; ++i) store_element(host->view().data, DType::F32, i, static_cast<double>(i % 1000));
    auto there = DeviceTensor::from_host(device, *host);
    auto out = DeviceTensor::create(device, DType::F32, {n});
    REQUIRE(there.ok());
    REQUIRE(out.ok());
    x = std::move(*there);
    y = std::move(*out);
    poison();
    arguments = {x.view, y.view, a};
  }
  void poison() { REQUIRE(fill_bytes(device, y.buffer.address(), 0xff, y.buffer.bytes()).ok()); }
  /// How many elements of y are not a * x.
  int64_t wrong(double a) const {
    const ContextScope scope(device);
    REQUIRE(device.cu().cuCtxSynchronize().ok());
    const auto host = y.to_host(device);
    REQUIRE(host.ok());
    int64_t count = 0;
    for (int64_t i = 0; i < y.view.shape[0]; ++i) {
      count += load_element(host->view().data, DType::F32, i) != a * static_cast<double>(i % 1000);
    }
    return count;
  }
  const Device& device;
  DeviceTensor x, y;
  std::vector<Argument> arguments;
};

std::unique_ptr<Kernel> prepared(const Device& device) {
  auto kernel = prepare(std::make_shared<KernelImage>(scale_image(device)), device.ordinal());
  INFO(kernel.status().message());
  REQUIRE(kernel.ok());
  return std::move(*kernel);
}

}  // namespace

TEST_CASE("a kernel runs, at every size, and leaves its workspace zero") {
  const Device* device = gpu();
  if (!device) return;
  std::printf("%s, %s, %d SMs, driver %d\n", device->name().c_str(), device->arch().c_str(), device->sm_count(),
              device->cu().version());
  const auto kernel = prepared(*device);
  auto stream = Stream::create(*device);
  REQUIRE(stream.ok());
  for (const int64_t n : {0, 1, 255, 1000003}) {
    Call call(*device, n, 2.5);
    for (int round = 0; round < 3; ++round) {
      call.poison();
      const Status status = kernel->launch(call.arguments, stream->get());
      INFO(status.message());
      REQUIRE(status.ok());
      REQUIRE(stream->synchronize().ok());
      CHECK(call.wrong(2.5) == 0);
    }
  }
}

TEST_CASE("the driver assembles what ptxas would") {
  const Device* device = gpu();
  if (!device) return;
  const char* set = std::getenv("CODA_PTXAS");
  const std::string before = set ? set : "";
  setenv("CODA_PTXAS", "driver", 1);
  const auto kernel = prepared(*device);
  Call call(*device, 5000, 3);
  REQUIRE(kernel->launch(call.arguments, nullptr).ok());
  CHECK(call.wrong(3) == 0);
  KernelImage broken = scale_image(*device);
  broken.code[60] = '?';
  const auto refused = prepare(std::make_shared<KernelImage>(broken), 0);
  set ? setenv("CODA_PTXAS", before.c_str(), 1) : unsetenv("CODA_PTXAS");
  CHECK(refused.status().code() == Code::Driver);
  std::printf("%s\n", refused.status().message().c_str());
}

TEST_CASE("a first launch can be captured, and the graph replayed") {
  const Device* device = gpu();
  if (!device) return;
  const auto kernel = prepared(*device);
  Call call(*device, 100000, 7);
  auto stream = Stream::create(*device);
  REQUIRE(stream.ok());
  const ContextScope scope(*device);
  const Driver& cu = device->cu();
  REQUIRE(cu.cuStreamBeginCapture_v2(stream->get(), kCuCaptureThreadLocal).ok());
  const Status launched = kernel->launch(call.arguments, stream->get());
  CuGraph graph = nullptr;
  CuGraphExec executable = nullptr;
  const Status ended = cu.cuStreamEndCapture(stream->get(), &graph);
  INFO(launched.message() << ended.message());
  REQUIRE(launched.ok());
  REQUIRE(ended.ok());
  REQUIRE(cu.cuGraphInstantiateWithFlags(&executable, graph, 0).ok());
  for (int round = 0; round < 3; ++round) {
    call.poison();
    REQUIRE(cu.cuGraphLaunch(executable, stream->get()).ok());
    REQUIRE(stream->synchronize().ok());
    CHECK(call.wrong(7) == 0);
  }
  CHECK(cu.cuGraphExecDestroy(executable).ok());
  CHECK(cu.cuGraphDestroy(graph).ok());
}

TEST_CASE("every GPU of the machine runs its own kernel, from threads of their own") {
  if (!gpu()) return;
  const auto count = Device::count();
  REQUIRE(count.ok());
  std::vector<std::unique_ptr<Kernel>> kernels;
  std::vector<Call> calls;
  for (int ordinal = 0; ordinal < *count; ++ordinal) {
    auto device = Device::get(ordinal);
    INFO(device.status().message());
    REQUIRE(device.ok());
    kernels.push_back(prepared(**device));
    calls.emplace_back(**device, 100000 + ordinal, 3);
  }
  std::vector<int> failed(kernels.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < kernels.size(); ++i) {
    threads.emplace_back([&, i] {
      for (int n = 0; n < 100; ++n) failed[i] += !kernels[i]->launch(calls[i].arguments, nullptr).ok();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (size_t i = 0; i < kernels.size(); ++i) {
    CHECK(failed[i] == 0);
    CHECK(calls[i].wrong(3) == 0);
    const size_t next = (i + 1) % kernels.size();
    if (next == i) continue;
    const Status elsewhere = kernels[i]->launch(calls[next].arguments, nullptr);
    CHECK(elsewhere.message() == "argument 'x': it is in memory of CUDA device " + std::to_string(next) +
                                     ", expected in memory of CUDA device " + std::to_string(i));
  }
  std::printf("%d GPUs\n", *count);
}

TEST_CASE("host memory given as device memory is refused before it does harm") {
  const Device* device = gpu();
  if (!device) return;
  const auto kernel = prepared(*device);
  Call call(*device, 1000, 1);
  auto host = HostTensor::create(DType::F32, {1000});
  REQUIRE(host.ok());
  TensorView lie = host->view();
  lie.device = 0;
  call.arguments[0] = lie;
  CHECK(kernel->launch(call.arguments, nullptr).message().find("is not device memory") != std::string::npos);
  call.arguments[0] = call.x.view;
  REQUIRE(kernel->launch(call.arguments, nullptr).ok());
  CHECK(call.wrong(1) == 0);
}

TEST_CASE("the driver takes the tensor maps that we think it takes") {
  const Device* device = gpu();
  if (!device) return;
  auto memory = DeviceBuffer::allocate(*device, 1 << 20);
  REQUIRE(memory.ok());
  const ContextScope scope(*device);  // encoding asks for a current context
  TensorMapValues values;
  values.data_type = kCuTensorBfloat16;
  values.rank = 5;
  values.swizzle = kCuTensorSwizzle128B;
  values.address = reinterpret_cast<uintptr_t>(memory->data());
  const uint64_t extents[] = {64, 2, 4, 4, 8}, strides[] = {1024, 256, 4096, 8192};
  const uint32_t box[] = {64, 2, 4, 4, 2};
  std::copy_n(extents, 5, values.extents);
  std::copy_n(strides, 4, values.strides);
  std::copy_n(box, 5, values.box);
  CuTensorMap map;
  CHECK(encode_tensor_map(device->cu(), values, map));
  values.strides[0] = 0;
  std::printf("stride 0: %s\n", encode_tensor_map(device->cu(), values, map) ? "taken" : "refused");
  values.strides[0] = 8;
  CHECK_FALSE(encode_tensor_map(device->cu(), values, map));
}

TEST_CASE("a launch is quick") {
  const Device* device = gpu();
  if (!device) return;
  const auto kernel = prepared(*device);
  Call call(*device, 1000, 1);
  constexpr int kLaunches = 2000;
  for (int i = 0; i < 100; ++i) REQUIRE(kernel->launch(call.arguments, nullptr).ok());
  const auto start = std::chrono::steady_clock::now();
  int failed = 0;
  for (int i = 0; i < kLaunches; ++i) failed += !kernel->launch(call.arguments, nullptr).ok();
  const double us = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
  std::printf("launch: %.2f us\n", us / kLaunches);
  CHECK(failed == 0);
  CHECK(call.wrong(1) == 0);
}
