// Several devices, of several kinds, against the fake driver.
#include <atomic>
#include <catch2/catch.hpp>
#include <thread>

#include "tests/runtime/fake_launch.h"

using namespace coda;
using namespace coda::testing;

TEST_CASE("preparing refuses the wrong architecture, device and size") {
  fake_cuda::reset();
  const auto image = std::make_shared<KernelImage>(cubin_image());
  CHECK(prepare(image, 1).status().message() ==
        "the code is for sm_90a, but CUDA device 1 (Fake A100) is sm_80; compile the kernel for that");
  CHECK(prepare(image, 2).status().code() == Code::NotFound);
  CHECK(prepare(image, kHostDevice).status().code() == Code::Unsupported);
  CHECK(prepare(image, 0, {{"T", 8}}).status().message() == "kernel 'gate_up' has no dimension 'T'");
  CHECK(prepare(image, 0, {{"M", -8}}).status().message() == "kernel 'gate_up' can't have dimension M = -8");
  KernelImage big = *image;
  big.shared_bytes = 300 * 1024;
  CHECK(prepare(std::make_shared<KernelImage>(big), 0).status().message().find("bytes of shared memory") !=
        std::string::npos);
  CHECK(device(0).runs("sm_90").ok());
  CHECK_FALSE(device(0).runs("sm_80").ok());
  CHECK_FALSE(device(0).runs("sm_100a").ok());
  CHECK(device(1).runs("sm_80").ok());
  CHECK_FALSE(device(1).runs("sm_86").ok());
  CHECK_FALSE(device(1).runs("nonsense").ok());
}

TEST_CASE("two devices of two kinds run their own code side by side, each in its own context") {
  fake_cuda::reset();
  Artefact both;
  for (const char* target : {"sm_80", "sm_90a"}) {
    KernelImage image = cubin_image();
    image.target = target;
    image.shared_bytes = 1024 * 100;
    both.images.push_back(std::make_shared<const Image>(std::move(image)));
  }
  std::vector<std::unique_ptr<Kernel>> kernels;
  std::vector<Tensors> tensors;
  for (const int ordinal : {0, 1}) {
    auto kernel = prepare(both, ordinal);
    INFO(kernel.status().message());
    REQUIRE(kernel.ok());
    kernels.push_back(std::move(*kernel));
    tensors.emplace_back(8192, 4096, 64, ordinal);
  }
  // From one thread in turn, and from two at once.
  const auto launch = [&](size_t i) { return kernels[i]->launch(tensors[i].arguments, nullptr).ok(); };
  for (const size_t i : {0u, 1u, 1u, 0u}) CHECK(launch(i));
  std::atomic<int> failed{0};
  std::vector<std::thread> threads;
  for (const size_t i : {0u, 1u}) {
    threads.emplace_back([&, i] {
      for (int n = 0; n < 50; ++n) failed += !launch(i);
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(failed == 0);
  std::map<int, int> counts;
  for (const auto& launch_seen : fake_cuda::snapshot().launches) {
    ++counts[launch_seen.device];
    CHECK(launch_seen.grid == (launch_seen.device == 0 ? 132u : 108u));
  }
  CHECK(counts == std::map<int, int>{{0, 52}, {1, 52}});
  CHECK(kernels[1]->launch(tensors[0].arguments, nullptr).message() ==
        "argument 'x': it is in memory of CUDA device 0, expected in memory of CUDA device 1");
  kernels.pop_back();
  CHECK(fake_cuda::snapshot().modules == 1);
  CHECK(launch(0));
}
