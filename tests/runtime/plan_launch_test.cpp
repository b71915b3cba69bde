// Plans against the fake driver that launch_test.cpp chooses.
#include <catch2/catch.hpp>
#include <random>
#include <set>
#include <thread>

#include "runtime/device.h"
#include "runtime/launch_function.h"
#include "runtime/recording.h"
#include "tests/runtime/count_allocations.h"
#include "tests/runtime/count_locks.h"
#include "tests/runtime/fake_cuda/fake_cuda.h"
#include "tests/runtime/sample_plan.h"

using namespace coda;

namespace {

constexpr size_t kFirstWord = 32, kInput = kFirstWord, kOutput = kFirstWord + 6;

const Device& device() { return **Device::get(0); }

std::unique_ptr<Kernel> prepared(const PlanImage& image) {
  auto kernel = prepare(std::make_shared<PlanImage>(image), 0);
  INFO(kernel.status().message());
  REQUIRE(kernel.ok());
  return std::move(*kernel);
}

/// Arguments of a chain in the fake device's memory.
struct Chain {
  Chain(int64_t rows, const std::vector<int64_t>& widths) {
    add(DType::BF16, {rows, widths[0]});
    for (size_t i = 1; i < widths.size(); ++i) add(DType::BF16, {2 * widths[i], widths[i - 1]});
    add(DType::F32, {rows});
    arguments.push_back(2.5);
    add(DType::BF16, {rows, widths.back()});
  }
  void add(DType dtype, Sizes shape) {
    auto tensor = DeviceTensor::create(device(), dtype, shape);
    REQUIRE(tensor.ok());
    arguments.push_back(tensor->view);
    memory.push_back(std::move(*tensor));
  }
  uint64_t address(size_t i) { return reinterpret_cast<uintptr_t>(std::get<TensorView>(arguments[i]).data); }
  std::vector<Argument> arguments;
  std::vector<DeviceTensor> memory;
};

void* stream(uintptr_t n) { return reinterpret_cast<void*>(n); }

std::vector<std::string> entries(const std::vector<fake_cuda::Launch>& launches) {
  std::vector<std::string> names;
  for (const auto& launch : launches) names.push_back(std::to_string(launch.parameters[kFirstWord + 10]));
  return names;
}

}  // namespace

TEST_CASE("a plan is one launch of all its kernels in order, each given what the one before wrote") {
  fake_cuda::reset();
  const auto kernel = prepared(testing::sample_plan(4));
  CHECK(kernel->signature().name == "chain");
  CHECK(kernel->param_index("rstd") == 5);
  Chain chain(300, {64, 128, 256, 512, 72});
  const Status status = kernel->launch(chain.arguments, stream(0x41));
  INFO(status.message());
  REQUIRE(status.ok());
  const auto launches = fake_cuda::snapshot().launches;
  REQUIRE(launches.size() == 4);
  CHECK(entries(launches) == std::vector<std::string>{"64", "128", "256", "512"});  // the depths
  CHECK(launches[0].parameters[kInput] == chain.address(0));
  for (size_t i = 1; i < 4; ++i) {
    CHECK(launches[i].parameters[kInput] == launches[i - 1].parameters[kOutput]);
    CHECK(launches[i].stream == stream(0x41));
  }
  CHECK(launches[3].parameters[kOutput] == chain.address(7));
  // Three tensors between them, two of which live at once: rows of 128, 256 and 512, each padded to 16 bytes.
  const auto bytes = kernel->workspace_bytes(chain.arguments);
  REQUIRE(bytes.ok());
  const auto tensor = [](int64_t columns) { return (300 * columns * 2 + 255) / 256 * 256; };
  CHECK(*bytes == tensor(512) + tensor(256));
  CHECK(launches[2].parameters[kOutput] != launches[1].parameters[kOutput]);
}

TEST_CASE("rows of what is kept begin at multiples of 16 bytes, so that TMA reads them") {
  fake_cuda::reset();
  const auto kernel = prepared(testing::sample_plan(2));
  PlanImage ragged = testing::sample_plan(2);
  for (auto& step : ragged.steps) step.kernel.facts.clear();
  ragged.facts.clear();
  const auto loose = prepared(ragged);
  Chain chain(10, {64, 13, 72});
  REQUIRE(loose->launch(chain.arguments, nullptr).ok());
  const auto launches = fake_cuda::snapshot().launches;
  CHECK(launches[0].parameters[kFirstWord + 7] == 16);  // the row stride of what the first writes
  CHECK(launches[1].parameters[kFirstWord + 1] == 16);
  CHECK((launches[1].parameters[kFirstWord + 13] & 1) == 1);
  CHECK(kernel->launch(chain.arguments, nullptr).message() ==
        "kernel 'chain' requires D1 % 8 = 0, but D1 = 13 (from axis 1 of 'w2')");
}

TEST_CASE("a plan's arguments are checked before anything is enqueued") {
  fake_cuda::reset();
  const auto kernel = prepared(testing::sample_plan(2));
  const auto refused = [&](const std::string& text, auto change) {
    Chain chain(300, {64, 128, 72});
    change(chain);
    const Status status = kernel->launch(chain.arguments, nullptr);
    INFO(status.message());
    CHECK_FALSE(status.ok());
    CHECK(status.message().find(text) != std::string::npos);
    CHECK(fake_cuda::snapshot().launches.empty());
  };
  const auto view = [](Chain& chain, size_t i) -> TensorView& { return std::get<TensorView>(chain.arguments[i]); };
  refused("'w1': axis 0 is 256, expected 2*D1 = 128 with D1 = 64", [&](Chain& c) { view(c, 2).shape[1] = 64; });
  refused("'x': its type is f16", [&](Chain& c) { view(c, 0).dtype = DType::F16; });
  refused("'y': it is written, but shares memory with argument 'x'",
          [&](Chain& c) { view(c, 5).data = view(c, 0).data; });
  refused("'x': its address is not device memory", [&](Chain& c) {
    static char host[1 << 17];
    view(c, 0).data = host;
  });
  refused("takes 6 arguments", [](Chain& c) { c.arguments.pop_back(); });
}

TEST_CASE("sizes that one of a plan's kernels can't count are refused before the first is enqueued") {
  fake_cuda::reset();
  PlanImage image = testing::sample_plan(2);
  image.steps[1].kernel.rows = Dim::symbol("M") * Dim(1 << 24);
  const auto kernel = prepared(image);
  Chain chain(300, {64, 128, 72});
  const Status status = kernel->launch(chain.arguments, nullptr);
  CHECK(status.message().find("block 'chain': kernel 'link2': 16777216*M is 5033164800; one launch can do at most") ==
        0);
  CHECK(fake_cuda::snapshot().launches.empty());
}

TEST_CASE("what a plan keeps between its kernels is refused where it exceeds the address space") {
  fake_cuda::reset();
  const auto kernel = prepared(testing::sample_plan(2));
  Chain chain(300, {64, 128, 72});
  // Every argument could be that large; what the first kernel writes could not, be it counted in 64 bits or not.
  const auto refused = [&](int64_t size, const std::string& text) {
    auto arguments = chain.arguments;
    const auto view = [&](size_t i) -> TensorView& { return std::get<TensorView>(arguments[i]); };
    view(0).shape[0] = view(3).shape[0] = view(5).shape[0] = size;
    view(1).shape[0] = 2 * size;
    view(2).shape[1] = size;
    for (const size_t i : {0u, 1u, 2u, 3u, 5u}) {
      view(i).strides = contiguous_strides(view(i).shape);
      view(i).data = reinterpret_cast<void*>((i + 1) << 56);
    }
    for (const Status& status : {kernel->launch(arguments, nullptr), kernel->workspace_bytes(arguments).status(),
                                 record(*kernel, arguments).status()}) {
      CHECK(status.code() == Code::InvalidArgument);
      CHECK(status.message().find(text) != std::string::npos);
    }
  };
  refused(int64_t{1} << 30, "of shape [1073741824, 1073741824] exceeds the address space");
  refused(int64_t{1} << 34, "of shape [17179869184, 17179869184] exceeds the address space");
  CHECK(fake_cuda::snapshot().launches.empty());
}

TEST_CASE("a steady launch of a plan does not allocate or lock, with fresh addresses and shapes too") {
  fake_cuda::reset();
  const auto kernel = prepared(testing::sample_plan(4));
  const std::vector<int64_t> widths{64, 128, 256, 512, 64};
  Chain first(512, widths), moved(512, widths), second(300, {128, 64, 96, 256, 512});
  REQUIRE(kernel->launch(first.arguments, nullptr).ok());
  REQUIRE(kernel->launch(second.arguments, nullptr).ok());
  for (Chain* chain : {&first, &first, &moved, &second}) {
    AllocationCount allocations;
    LockCount locks;
    const Status status = kernel->launch(chain->arguments, nullptr);
    CHECK(locks.stop() == 0);
    CHECK(allocations.stop() == 0);
    CHECK(status.ok());
  }
}

TEST_CASE("every launch of a plan passes what a first one would, whatever came before") {
  fake_cuda::reset();
  PlanImage image = testing::sample_plan(3);
  image.steps[0].once = true;
  const auto kernel = prepared(image);
  const std::vector<int64_t> widths{64, 128, 256, 72};
  Chain a(300, widths), b(300, widths), c(200, widths);
  auto given = DeviceTensor::create(device(), DType::U8, {1 << 20});
  REQUIRE(given.ok());
  std::mt19937 random(11);
  const auto pick = [&](int below) { return static_cast<int>(random() % static_cast<unsigned>(below)); };
  for (int i = 0; i < 300; ++i) {
    Chain* const from[] = {&a, &b, &c};
    auto arguments = from[pick(3)]->arguments;
    if (pick(2)) arguments[2] = pick(2) ? a.arguments[2] : b.arguments[2];
    if (pick(8) == 0) std::get<TensorView>(arguments[6]).data = std::get<TensorView>(arguments[0]).data;  // overlap
    if (pick(6) == 0) kernel->weights_changed();
    const Workspace workspace = pick(3) ? Workspace() : Workspace{given->view.data, 1 << 20};
    void* const on = stream(static_cast<uintptr_t>(0xa1 + pick(2)));
    const Status status = kernel->launch(arguments, on, workspace);
    const auto seen = fake_cuda::snapshot().launches;
    const auto fresh = prepared(image);
    const Status expected = fresh->launch(arguments, on, workspace);
    REQUIRE(status.message() == expected.message());
    if (!status.ok()) continue;
    const auto reference = fake_cuda::snapshot().launches;
    for (size_t step = 1; step <= 2; ++step) {  // from the end: the first was made once for these weights
      const auto& ours = seen[seen.size() - step];
      const auto& theirs = reference[reference.size() - step];
      CHECK(ours.grid == theirs.grid);
      for (size_t word = kFirstWord; word < ours.parameters.size(); ++word) {
        const size_t at = word - kFirstWord;
        const bool is_own = at == 11 || (at == 0 && step == 2) || (!workspace.data && (at == 0 || at == 6));
        if (!is_own || (at == 6 && step == 1)) REQUIRE(ours.parameters[word] == theirs.parameters[word]);
      }
      // The map is of what the pointer points to.
      REQUIRE(ours.parameters[1] == ours.parameters[kInput]);
    }
    REQUIRE(seen[seen.size() - 1].parameters[kInput] == seen[seen.size() - 2].parameters[kOutput]);
  }
}

TEST_CASE("a plan's workspace is its own, one a stream, or the caller's") {
  fake_cuda::reset();
  const auto kernel = prepared(testing::sample_plan(2));
  Chain chain(300, {64, 128, 72});
  const auto kept = [&](void* on, Workspace workspace = {}) {
    REQUIRE(kernel->launch(chain.arguments, on, workspace).ok());
    return fake_cuda::snapshot().launches.back().parameters[kInput];
  };
  CHECK(kept(stream(0x51)) == kept(stream(0x51)));
  CHECK(kept(stream(0x51)) != kept(stream(0x52)));
  const auto bytes = kernel->workspace_bytes(chain.arguments);
  REQUIRE(bytes.ok());
  auto given = DeviceTensor::create(device(), DType::U8, {*bytes + 512});
  REQUIRE(given.ok());
  const uintptr_t base = (reinterpret_cast<uintptr_t>(given->view.data) + 255) / 256 * 256;
  const auto memory = [](uintptr_t address) { return reinterpret_cast<void*>(address); };
  const auto needed = static_cast<size_t>(*bytes);
  CHECK(kept(stream(0x51), {memory(base), needed}) == base);
  CHECK(kernel->launch(chain.arguments, nullptr, {memory(base), needed - 1}).message() ==
        "block 'chain': the workspace given has " + std::to_string(needed - 1) + " bytes; these arguments need " +
            std::to_string(needed));
  CHECK(kernel->launch(chain.arguments, nullptr, {memory(base + 16), needed}).message() ==
        "block 'chain': the workspace given is not at a multiple of 256 bytes");
  alignas(256) static char host[1 << 18];
  CHECK(kernel->launch(chain.arguments, nullptr, {host, sizeof(host)}).message().find("'workspace'") !=
        std::string::npos);
}

TEST_CASE("without rows nothing of a plan is launched") {
  fake_cuda::reset();
  const auto kernel = prepared(testing::sample_plan(3));
  Chain none(0, {64, 128, 256, 72}), no_output(300, {64, 128, 256, 0});
  CHECK(kernel->launch(none.arguments, nullptr).ok());
  CHECK(kernel->launch(no_output.arguments, nullptr).ok());
  CHECK(fake_cuda::snapshot().launches.empty());
  Chain narrow(300, {64, 0, 256, 72});  // a product of depth 0 is launched, what it reads is not
  CHECK(kernel->launch(narrow.arguments, nullptr).ok());
  CHECK(entries(fake_cuda::snapshot().launches) == std::vector<std::string>{"0", "256"});
}

TEST_CASE("what is made of weights is made once for each set of them, and again when they have changed") {
  fake_cuda::reset();
  PlanImage image = testing::sample_plan(3);
  image.steps[0].once = true;  // of x, w1, rstd and scale
  const auto kernel = prepared(image);
  Chain first(300, {64, 128, 256, 72}), second(300, {64, 128, 256, 72});
  const auto depths = [&](Chain& chain, bool fold = false) {
    const size_t before = fake_cuda::snapshot().launches.size();
    const Status status = fold ? kernel->fold(chain.arguments, nullptr) : kernel->launch(chain.arguments, nullptr);
    INFO(status.message());
    REQUIRE(status.ok());
    const auto all = fake_cuda::snapshot().launches;
    return entries({all.begin() + static_cast<std::ptrdiff_t>(before), all.end()});
  };
  using List = std::vector<std::string>;
  CHECK(depths(first) == List{"64", "128", "256"});
  CHECK(depths(first) == List{"128", "256"});
  CHECK(depths(second) == List{"64", "128", "256"});
  CHECK(depths(first) == List{"128", "256"});
  first.arguments[5] = 3.0;  // another scale is another set
  CHECK(depths(first, true) == List{"64"});
  CHECK(depths(first, true).empty());
  CHECK(depths(first) == List{"128", "256"});
  kernel->weights_changed();
  CHECK(depths(first) == List{"64", "128", "256"});
  CHECK(depths(second, true) == List{"64"});

  AllocationCount count;
  CHECK(kernel->launch(second.arguments, nullptr).ok());
  CHECK(count.stop() == 0);

  fake_cuda::fail_next("cuStreamSynchronize", 700);  // a failure is not remembered as done
  kernel->weights_changed();
  CHECK_FALSE(kernel->launch(first.arguments, nullptr).ok());
  CHECK(depths(first) == List{"64", "128", "256"});
}

TEST_CASE("plans are captured and recorded; what is made of weights must be there before a capture") {
  fake_cuda::reset();
  PlanImage image = testing::sample_plan(3);
  image.steps[0].once = true;
  const auto kernel = prepared(image);
  Chain chain(300, {64, 128, 256, 72});
  auto own = Stream::create(device());
  REQUIRE(own.ok());
  const Driver& cu = device().cu();
  CuGraph graph = nullptr;
  REQUIRE(cu.cuStreamBeginCapture_v2(own->get(), kCuCaptureThreadLocal).ok());
  const Status early = kernel->launch(chain.arguments, own->get());
  REQUIRE(cu.cuStreamEndCapture(own->get(), &graph).ok());
  REQUIRE(cu.cuGraphDestroy(graph).ok());
  CHECK(early.code() == Code::Unsupported);
  CHECK(early.message().find("launch it once before, or fold()") != std::string::npos);
  CHECK(fake_cuda::snapshot().launches.empty());

  auto recording = record(*kernel, chain.arguments);
  INFO(recording.status().message());
  REQUIRE(recording.ok());
  CHECK(entries(fake_cuda::snapshot().launches) == std::vector<std::string>{"64"});  // folded, not captured
  REQUIRE((*recording)->launch(stream(0x61)).ok());
  REQUIRE((*recording)->launch(stream(0x61)).ok());
  auto launches = fake_cuda::snapshot().launches;
  CHECK(entries(launches) == std::vector<std::string>{"64", "128", "256", "128", "256"});
  CHECK(launches[2].parameters[kInput] == launches[4].parameters[kInput]);
  REQUIRE(kernel->launch(chain.arguments, nullptr).ok());
  launches = fake_cuda::snapshot().launches;
  CHECK(launches.back().parameters[kInput] != launches[4].parameters[kInput]);  // the graph's workspace is its own

  chain.arguments.pop_back();
  CHECK_FALSE(record(*kernel, chain.arguments).ok());
}

TEST_CASE("a plan's dependent kernels may overlap with those before them, the first with nothing") {
  fake_cuda::reset();
  PlanImage image = testing::sample_plan(4);
  image.steps[0].once = true;
  for (const int step : {0, 1, 2}) image.steps[static_cast<size_t>(step)].kernel.dependent = true;
  const auto kernel = prepared(image);
  Chain chain(300, {64, 128, 256, 512, 72});
  const auto flags = [&](const std::function<Status()>& launch) {
    const size_t before = fake_cuda::snapshot().launches.size();
    const Status status = launch();
    INFO(status.message());
    REQUIRE(status.ok());
    std::string text;
    const auto all = fake_cuda::snapshot().launches;
    for (size_t i = before; i < all.size(); ++i) text += all[i].dependent ? 'd' : '-';
    return text;
  };
  const auto launch = [&] { return kernel->launch(chain.arguments, stream(0x43)); };
  CHECK(flags(launch) == "--d-");  // made of weights; first; dependent; one that is not
  CHECK(flags(launch) == "-d-");   // no launch of the plan overlaps with the one before it
  CHECK(flags(launch) == "-d-");
  auto recording = record(*kernel, chain.arguments);
  REQUIRE(recording.ok());
  CHECK(flags([&] { return (*recording)->launch(stream(0x43)); }) == "-d-");

  // The first one that is enqueued is the first; what has no output is none.
  image.steps[0].once = false;
  image.steps[3].kernel.dependent = true;
  const auto narrow = prepared(image);
  Chain none(300, {64, 0, 256, 512, 72});
  CHECK(flags([&] { return narrow->launch(none.arguments, stream(0x43)); }) == "-dd");

  // A kernel by itself knows nothing of what is in front of it.
  auto alone = testing::sample_image();
  alone.dependent = true;
  const auto own = prepare(std::make_shared<KernelImage>(alone), 0);
  REQUIRE(own.ok());
  Chain one(300, {64, 72});
  CHECK(flags([&] { return (*own)->launch(one.arguments, stream(0x43)); }) == "-");

  fake_cuda::fail_next("cuLaunchKernelEx", 701);
  CHECK(kernel->launch(chain.arguments, nullptr).message().find("block 'chain': kernel 'link3': cuLaunchKernelEx") ==
        0);
}

TEST_CASE("a driver without dependent launches serialises them") {
  std::string path = fake_cuda::library_path();
  const std::string own = "coda_fake_cuda";
  path.replace(path.rfind(own), own.size(), "coda_old_fake_cuda");
  static const auto old = Driver::load(path);  // never unloaded, and so kept
  INFO(old.status().message());
  REQUIRE(old.ok());
  CHECK_FALSE((*old)->cuLaunchKernelEx.exists());
  CHECK(device().cu().cuLaunchKernelEx.exists());
  // It has no context, so that each call fails under its own name.
  void* parameters[] = {nullptr};
  for (const bool dependent : {false, true}) {
    const Status status = launch_function(**old, nullptr, {1, 32, 0}, nullptr, parameters, dependent);
    CHECK(status.message().find("cuLaunchKernel failed") == 0);
  }
}

TEST_CASE("a failing driver leaves a plan usable") {
  fake_cuda::reset();
  const PlanImage image = testing::sample_plan(2);
  fake_cuda::fail_next("cuModuleLoadDataEx", 218);
  const auto unloadable = prepare(std::make_shared<PlanImage>(image), 0);
  CHECK(unloadable.status().message().find("kernel 'link1': cuModuleLoadDataEx failed") == 0);
  const auto kernel = prepared(image);
  Chain chain(300, {64, 128, 72});
  fake_cuda::fail_next("cuMemAlloc_v2", kCuOutOfMemory);
  const Status memory = kernel->launch(chain.arguments, nullptr);
  CHECK(memory.code() == Code::OutOfMemory);
  CHECK(memory.message().find("block 'chain': workspace: allocating") == 0);
  fake_cuda::fail_next("cuLaunchKernel", 701);
  CHECK(kernel->launch(chain.arguments, nullptr).message().find("block 'chain': kernel 'link1': cuLaunchKernel") == 0);
  CHECK(kernel->launch(chain.arguments, nullptr).ok());
  fake_cuda::fail_next("cuGraphInstantiateWithFlags", 2);
  (void)record(*kernel, chain.arguments);
  CHECK(prepare(std::make_shared<PlanImage>(image), 1).status().message().find("the code is for sm_90a") == 0);
  CHECK(prepare(std::make_shared<PlanImage>(image), kHostDevice).status().code() == Code::Unsupported);
}

TEST_CASE("threads launch one plan at once") {
  fake_cuda::reset();
  PlanImage image = testing::sample_plan(3);
  image.steps[0].once = true;
  const auto kernel = prepared(image);
  Chain chain(300, {64, 128, 256, 72});
  constexpr int kThreads = 8, kLaunches = 50;
  std::atomic<int> failed{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kLaunches; ++i) {
        failed += !kernel->launch(chain.arguments, stream(uintptr_t{0x70} + static_cast<unsigned>(t))).ok();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(failed == 0);
  const auto launches = fake_cuda::snapshot().launches;
  CHECK(launches.size() == 1 + 2 * kThreads * kLaunches);
  std::map<CuStream, std::set<uint64_t>> outputs;
  std::set<uint64_t> all;
  for (const auto& launch : launches) {
    if (launch.parameters[kFirstWord + 10] != 128) continue;
    outputs[launch.stream].insert(launch.parameters[kOutput]);
    all.insert(launch.parameters[kOutput]);
  }
  CHECK(all.size() == kThreads);
  for (const auto& [on, addresses] : outputs) CHECK(addresses.size() == 1);
}
