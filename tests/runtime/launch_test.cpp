// Launches against the fake driver.
#include <sys/wait.h>
#include <unistd.h>

#include <bit>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <random>
#include <set>
#include <thread>

#include "runtime/device.h"
#include "runtime/kernel.h"
#include "tests/runtime/count_allocations.h"
#include "tests/runtime/count_locks.h"
#include "tests/runtime/fake_launch.h"

using namespace coda;
using namespace coda::testing;

namespace {

fake_cuda::EncodedMap map_of(const fake_cuda::Launch& launch, size_t index) {
  fake_cuda::EncodedMap map{};
  std::memcpy(&map, launch.parameters.data() + 16 * index, sizeof(map));
  return map;
}

}  // namespace

TEST_CASE("a launch passes tensor maps, words and geometry") {
  fake_cuda::reset();
  const auto kernel = prepared(cubin_image());
  Tensors tensors;
  const auto stream = reinterpret_cast<void*>(uintptr_t{0x55});
  REQUIRE(kernel->launch(tensors.arguments, stream).ok());
  const auto state = fake_cuda::snapshot();
  REQUIRE(state.launches.size() == 1);
  const fake_cuda::Launch& launch = state.launches[0];
  CHECK(launch.entry == "gate_up");
  CHECK(launch.grid == 16);  // 4 row tiles by 4 column tiles, fewer than SMs
  CHECK(launch.threads == 384);
  CHECK(launch.shared == 200 * 1024);
  CHECK(state.function_attributes.at(kCuFunctionMaxDynamicShared) == 200 * 1024);
  CHECK(launch.stream == stream);
  REQUIRE(launch.parameters.size() == kFirstWord + 14);
  CHECK(launch.parameters[kFirstWord] == reinterpret_cast<uintptr_t>(tensors.view(0).data));
  CHECK(launch.parameters[kFirstWord + 8] == 300);
  CHECK(launch.parameters[kMapsWord] == 3);

  const auto a = map_of(launch, 0), b = map_of(launch, 1);
  CHECK(a.magic == fake_cuda::kMapMagic);
  CHECK(a.address == reinterpret_cast<uintptr_t>(tensors.view(0).data));
  CHECK(a.type == kCuTensorBfloat16);
  CHECK(a.extents[0] == 64);
  CHECK(a.extents[1] == 300);
  CHECK(a.strides[0] == 128);
  CHECK(a.box[0] == 64);
  CHECK(a.box[1] == 128);
  CHECK(b.address == reinterpret_cast<uintptr_t>(tensors.view(1).data) + 512 * 64 * 2);  // the second half
  CHECK(b.extents[1] == 512);

  Tensors large(8192, 14336, 64);
  REQUIRE(kernel->launch(large.arguments, stream).ok());
  CHECK(fake_cuda::snapshot().launches[1].grid == 132);
}

TEST_CASE("what a tensor map can't address is left to the kernel") {
  fake_cuda::reset();
  const auto kernel = prepared(cubin_image());
  auto bits = [&](auto change) {
    Tensors tensors;
    change(tensors);
    INFO(kernel->launch(tensors.arguments, nullptr).message());
    REQUIRE(kernel->launch(tensors.arguments, nullptr).ok());
    return fake_cuda::snapshot().launches.back().parameters[kMapsWord];
  };
  CHECK(bits([](Tensors&) {}) == 3);
  CHECK(bits([](Tensors& t) { t.view(0).strides[0] = 68; }) == 2);
  CHECK(bits([](Tensors& t) { t.view(0).data = static_cast<char*>(t.view(0).data) + 2; }) == 2);
  CHECK(bits([](Tensors& t) { t = Tensors(300, 512, 0); }) == 0);
  CHECK(bits([](Tensors& t) {
          t = Tensors(1, 512, 64);
          t.view(0).strides[0] = 3;
        }) == 3);  // one row: any stride
  fake_cuda::fail_next("cuTensorMapEncodeTiled", kCuInvalidValue);
  Tensors tensors;
  REQUIRE(kernel->launch(tensors.arguments, nullptr).ok());
  CHECK(fake_cuda::snapshot().launches.back().parameters[kMapsWord] == 2);
}

TEST_CASE("without output elements nothing is launched; for statistics over nothing one cluster is") {
  fake_cuda::reset();
  auto kernel = prepared(cubin_image());
  Tensors no_rows(0, 512, 64), no_columns(300, 0, 64);
  CHECK(kernel->launch(no_rows.arguments, nullptr).ok());
  CHECK(kernel->launch(no_columns.arguments, nullptr).ok());
  CHECK(fake_cuda::snapshot().launches.empty());

  KernelImage image = cubin_image();
  image.params.push_back({"sum", ParamSpec::Role::Out, DType::F32, {Dim::symbol("M")}, {}});
  kernel = prepared(image);
  no_columns.add(DType::F32, {300});
  CHECK(kernel->launch(no_columns.arguments, nullptr).ok());
  REQUIRE(fake_cuda::snapshot().launches.size() == 1);
  CHECK(fake_cuda::snapshot().launches[0].grid == 2);
}

TEST_CASE("the parts of a split depth are launched side by side, as many as the device holds") {
  fake_cuda::reset();
  Tensors small(100, 100, 4096), large(8192, 8192, 64);
  unsigned before = 0;
  for (const int split : {1, 3}) {
    KernelImage image = cubin_image();
    image.split = split;
    auto kernel = prepared(image);
    REQUIRE(kernel->launch(small.arguments, nullptr).ok());
    const unsigned grid = fake_cuda::snapshot().launches.back().grid;
    if (split == 1) before = grid;
    CHECK(grid == before * static_cast<unsigned>(split));
    REQUIRE(kernel->launch(large.arguments, nullptr).ok());
    CHECK(fake_cuda::snapshot().launches.back().grid == 132);
  }
}

TEST_CASE("extents beyond 32 bits are refused") {
  fake_cuda::reset();
  const auto kernel = prepared(cubin_image());
  Tensors tensors;
  const int64_t huge = int64_t{1} << 31;
  tensors.view(0).shape[0] = tensors.view(2).shape[0] = tensors.view(4).shape[0] = huge;
  tensors.view(4).data = reinterpret_cast<void*>(uintptr_t{1} << 60);  // clear of the others' ranges
  const Status status = kernel->launch(tensors.arguments, nullptr);
  CHECK(status.message() == "kernel 'gate_up': M is 2147483648; one launch can do at most 2147418112");
  CHECK(fake_cuda::snapshot().launches.empty());
}

TEST_CASE("addresses must be memory of the kernel's device") {
  fake_cuda::reset();
  const auto kernel = prepared(cubin_image());
  Tensors tensors;
  alignas(16) static char host[1 << 17];
  tensors.view(0).data = host;
  CHECK(kernel->launch(tensors.arguments, nullptr).message() ==
        "argument 'x': its address is not device memory, though it was said to be on CUDA device 0");
  auto elsewhere = DeviceTensor::create(device(1), DType::BF16, {300, 64});
  REQUIRE(elsewhere.ok());
  tensors.view(0).data = elsewhere->view.data;
  CHECK(kernel->launch(tensors.arguments, nullptr).message() ==
        "argument 'x': its address is memory of CUDA device 1, expected of device 0");
  tensors.view(0).device = kHostDevice;
  CHECK(kernel->launch(tensors.arguments, nullptr).message() ==
        "argument 'x': it is in host memory, expected in memory of CUDA device 0");
  CHECK(fake_cuda::snapshot().launches.empty());
}

TEST_CASE("a driver's failure names the call, and nothing is left behind") {
  fake_cuda::reset();
  const auto image = std::make_shared<KernelImage>(cubin_image());
  fake_cuda::fail_next("cuModuleLoadDataEx", 218);
  CHECK(prepare(image, 0).status().message() ==
        "kernel 'gate_up': cuModuleLoadDataEx failed: a fake error (CUDA_ERROR_FAKE, 218):\n"
        "ptxas fatal: a fake reason");
  fake_cuda::fail_next("cuModuleLoadDataEx", kCuUnsupportedPtx);
  CHECK(prepare(image, 0).status().message().find(
            "this driver, of CUDA 13.0, is too old for the code, which is PTX 8.0: update it, or install ptxas") !=
        std::string::npos);
  KernelImage machine_code = *image;
  machine_code.code[0] = 0x7f;
  std::copy_n("ELF", 3, machine_code.code.begin() + 1);
  fake_cuda::fail_next("cuModuleLoadDataEx", kCuUnsupportedPtx);
  CHECK(
      prepare(std::make_shared<KernelImage>(machine_code), 0).status().message().find("too old for the code: update") !=
      std::string::npos);
  const auto kernel = prepared(*image);
  Tensors tensors;
  const size_t before = fake_cuda::snapshot().memory.size();
  fake_cuda::fail_next("cuMemAlloc_v2", kCuOutOfMemory);
  const Status status = kernel->launch(tensors.arguments, nullptr);
  CHECK(status.code() == Code::OutOfMemory);
  CHECK(status.message().find("workspace: allocating") == 0);
  CHECK(status.message().find("cuMemAlloc_v2 failed: out of memory") != std::string::npos);
  fake_cuda::fail_next("cuMemsetD8Async", 1);
  CHECK_FALSE(kernel->launch(tensors.arguments, nullptr).ok());
  CHECK(fake_cuda::snapshot().memory.size() == before);
  fake_cuda::fail_next("cuLaunchKernel", 701);
  CHECK(kernel->launch(tensors.arguments, nullptr).message() ==
        "kernel 'gate_up': cuLaunchKernel failed: a fake error (CUDA_ERROR_FAKE, 701)");
  CHECK(kernel->launch(tensors.arguments, nullptr).ok());
}

TEST_CASE("workspaces are zeroed once, kept by stream, and grow") {
  fake_cuda::reset();
  const size_t before = fake_cuda::snapshot().memory.size();
  {
    const auto kernel = prepared(cubin_image());
    Tensors small(256), large(8192);
    const auto stream = [](uintptr_t n) { return reinterpret_cast<void*>(n); };
    auto workspace = [&](Tensors& tensors, uintptr_t n) {
      REQUIRE(kernel->launch(tensors.arguments, stream(n)).ok());
      return reinterpret_cast<uint8_t*>(fake_cuda::snapshot().launches.back().parameters[kWorkspaceWord]);
    };
    uint8_t* const first = workspace(small, 0x21);
    CHECK(std::all_of(first, first + 256 * 4, [](uint8_t byte) { return byte == 0; }));
    first[0] = 7;
    CHECK(workspace(small, 0x21) == first);
    CHECK(first[0] == 7);
    CHECK(workspace(small, 0x22) != first);
    uint8_t* const grown = workspace(large, 0x21);
    CHECK(grown != first);
    CHECK(grown[0] == 0);
    CHECK(workspace(small, 0x21) == grown);
    CHECK(first[0] == 7);  // still there: work in flight may use it
  }
  CHECK(fake_cuda::snapshot().memory.size() == before);
}

TEST_CASE("a steady launch does not allocate or lock, with fresh addresses and shapes too") {
  fake_cuda::reset();
  const auto kernel = prepared(cubin_image());
  Tensors first(512, 512, 64), moved(512, 512, 64), second(300, 256, 128);
  REQUIRE(kernel->launch(first.arguments, nullptr).ok());
  for (Tensors* tensors : {&first, &first, &moved, &second, &second}) {
    AllocationCount allocations;
    LockCount locks;
    const Status status = kernel->launch(tensors->arguments, nullptr);
    CHECK(locks.stop() == 0);
    CHECK(allocations.stop() == 0);
    CHECK(status.ok());
  }
  AllocationCount allocations;
  const std::string text(100, 'x');
  CHECK(allocations.stop() == 1);
#if !defined(__SANITIZE_THREAD__)
  static std::mutex mutex;
  LockCount locks;
  mutex.lock();
  mutex.unlock();
  CHECK(locks.stop() == 1);
#endif
}

TEST_CASE("a repeated launch asks the driver for nothing but the launch; a moved one for what has moved") {
  fake_cuda::reset();
  const auto kernel = prepared(cubin_image());
  Tensors tensors, others;
  REQUIRE(kernel->launch(tensors.arguments, nullptr).ok());
  const auto calls_of = [&] {
    const auto before = fake_cuda::snapshot().calls;
    const Status status = kernel->launch(tensors.arguments, nullptr);
    INFO(status.message());
    REQUIRE(status.ok());
    auto calls = fake_cuda::snapshot().calls;
    for (const auto& [name, count] : before) {
      if ((calls[name] -= count) == 0) calls.erase(name);
    }
    return calls;
  };
  using Calls = std::map<std::string, int>;
  Calls steady{
      {"cuCtxGetCurrent", 1}, {"cuCtxPushCurrent_v2", 1}, {"cuStreamGetCaptureInfo_v2", 1}, {"cuLaunchKernel", 1}};
  CHECK(calls_of() == steady);
  const auto same = fake_cuda::snapshot().launches;
  CHECK(same[0].parameters == same[1].parameters);

  tensors.view(1).data = others.view(1).data;  // the second map's tensor
  Calls moved = steady;
  moved["cuPointerGetAttributes"] = moved["cuTensorMapEncodeTiled"] = 1;
  CHECK(calls_of() == moved);
  CHECK(calls_of() == steady);
  tensors.arguments[3] = 7.0;
  CHECK(calls_of() == steady);
  const auto launch = fake_cuda::snapshot().launches.back();
  CHECK(launch.parameters[kFirstWord + 2] == reinterpret_cast<uintptr_t>(others.view(1).data));
  CHECK(launch.parameters[kFirstWord + 5] == std::bit_cast<uint32_t>(7.0f));
  CHECK(map_of(launch, 1).address == reinterpret_cast<uintptr_t>(others.view(1).data) + 512 * 64 * 2);
  CHECK(map_of(launch, 0).address == reinterpret_cast<uintptr_t>(tensors.view(0).data));
}

TEST_CASE("every launch passes what a first launch with its arguments would, whatever came before") {
  fake_cuda::reset();
  const auto kernel = prepared(cubin_image());
  Tensors a, b, small(300, 256, 64), wide(300, 512, 128);
  std::mt19937 random(7);
  const auto pick = [&](int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); };
  for (int i = 0; i < 400; ++i) {
    Tensors* const from[] = {&a, &b, &small, &wide};
    auto arguments = from[pick(4)]->arguments;
    const auto view = [&](size_t p) -> TensorView& { return std::get<TensorView>(arguments[p]); };
    if (pick(2)) arguments[3] = static_cast<double>(pick(3));
    if (pick(4) == 0) view(0).data = static_cast<char*>(view(0).data) + 2;  // no tensor map
    if (pick(8) == 0) view(4).data = static_cast<char*>(view(4).data) + 2;  // no wide stores
    if (pick(8) == 0) view(0).data = view(4).data;                          // overlap
    if (pick(8) == 0) view(2).data = static_cast<char*>(view(2).data) + 1;  // misaligned
    if (pick(8) == 0) view(1).data = nullptr;
    if (pick(8) == 0) view(0).shape[0] = 299;
    void* const stream = reinterpret_cast<void*>(static_cast<uintptr_t>(0x91 + pick(2)));
    const Status status = kernel->launch(arguments, stream);
    const auto seen = fake_cuda::snapshot().launches;
    const auto fresh = prepared(cubin_image());
    const Status expected = fresh->launch(arguments, stream);
    REQUIRE(status.message() == expected.message());
    REQUIRE(status.code() == expected.code());
    if (!status.ok()) continue;
    auto launch = seen.back(), reference = fake_cuda::snapshot().launches.back();
    launch.parameters[kWorkspaceWord] = reference.parameters[kWorkspaceWord];
    REQUIRE(launch.parameters == reference.parameters);
    REQUIRE(launch.grid == reference.grid);
    REQUIRE(launch.stream == reference.stream);
  }
}

TEST_CASE("threads launch one kernel at once") {
  fake_cuda::reset();
  const auto kernel = prepared(cubin_image());
  Tensors tensors;
  constexpr int kThreads = 8, kLaunches = 200;
  std::vector<std::thread> threads;
  std::atomic<int> failed{0};
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      // Pairs of threads share a stream; each thread has its own scalar.
      auto arguments = tensors.arguments;
      arguments[3] = static_cast<double>(t);
      for (int i = 0; i < kLaunches; ++i) {
        failed +=
            !kernel->launch(arguments, reinterpret_cast<void*>(uintptr_t{0x30} + static_cast<unsigned>(t / 2))).ok();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(failed == 0);
  const auto launches = fake_cuda::snapshot().launches;
  REQUIRE(launches.size() == kThreads * kLaunches);
  std::map<CuStream, std::set<uint64_t>> workspaces;
  std::map<uint64_t, int> scalars;
  std::set<uint64_t> all;
  for (const auto& launch : launches) {
    workspaces[launch.stream].insert(launch.parameters[kWorkspaceWord]);
    all.insert(launch.parameters[kWorkspaceWord]);
    ++scalars[launch.parameters[kFirstWord + 5]];
  }
  CHECK(all.size() == kThreads / 2);
  for (const auto& [stream, addresses] : workspaces) CHECK(addresses.size() == 1);
  CHECK(scalars.size() == kThreads);
  for (const auto& [scalar, count] : scalars) CHECK(count == kLaunches);
}

TEST_CASE("a forked child is told that CUDA does not survive fork") {
  fake_cuda::reset();
  const auto kernel = prepared(cubin_image());
  Tensors tensors;
  const pid_t child = fork();
  if (child == 0) {
    const Status launched = kernel->launch(tensors.arguments, nullptr);
    const Status opened = Device::get(0).status();
    const bool right = launched.code() == Code::Unsupported && launched.message().find("fork") != std::string::npos &&
                       opened.code() == Code::Unsupported;
    _exit(right ? 0 : 1);
  }
  int state = 0;
  REQUIRE(waitpid(child, &state, 0) == child);
  CHECK((WIFEXITED(state) && WEXITSTATUS(state) == 0));
  CHECK(kernel->launch(tensors.arguments, nullptr).ok());
}

TEST_CASE("a missing or too old driver is named") {
  const auto missing = Driver::load("/nonexistent/libcuda.so.1");
  CHECK(missing.status().code() == Code::NotFound);
  CHECK(missing.status().message().find("/nonexistent/libcuda.so.1") != std::string::npos);
  const auto other = Driver::load("libm.so.6");
  CHECK(other.status().code() == Code::Unsupported);
  CHECK(other.status().message().find("cuInit") != std::string::npos);
  fake_cuda::fail_next("cuInit", kCuNoDevice);
  const auto deviceless = Driver::load(fake_cuda::library_path());
  CHECK(deviceless.status().code() == Code::NotFound);
  CHECK(deviceless.status().message().find("cuInit failed") != std::string::npos);
}

TEST_CASE("tensors travel to the device and back, and contexts are put back") {
  fake_cuda::reset();
  auto tensor = HostTensor::create(DType::I32, {3, 5});
  REQUIRE(tensor.ok());
  for (int64_t i = 0; i < 15; ++i) store_element(tensor->view().data, DType::I32, i, static_cast<double>(i * i));
  auto there = DeviceTensor::from_host(device(), *tensor);
  REQUIRE(there.ok());
  CHECK(there->view.device == 0);
  auto back = there->to_host(device());
  REQUIRE(back.ok());
  CHECK(std::memcmp(back->view().data, tensor->view().data, 60) == 0);
  CuContext current = nullptr;
  REQUIRE(device().cu().cuCtxGetCurrent(&current).ok());
  CHECK(current == nullptr);
  CHECK(DeviceTensor::create(device(), DType::F32, {INT64_MAX, 2}).status().code() == Code::InvalidArgument);
  CHECK(DeviceTensor::create(device(), DType::F32, {int64_t{1} << 40}).status().code() == Code::OutOfMemory);
  auto empty = DeviceTensor::create(device(), DType::F32, {0, 4});
  REQUIRE(empty.ok());
  CHECK(empty->to_host(device()).ok());
}
