// Launches while a graph is captured, against the fake driver.
#include <catch2/catch.hpp>

#include "tests/runtime/fake_launch.h"

using namespace coda;
using namespace coda::testing;

TEST_CASE("launches can be captured, even the first, and a captured graph has a workspace of its own") {
  fake_cuda::reset();
  const auto kernel = prepared(cubin_image());
  Tensors tensors;
  auto stream = Stream::create(device());
  REQUIRE(stream.ok());
  const Driver& cu = device().cu();
  auto capture = [&] {
    REQUIRE(cu.cuStreamBeginCapture_v2(stream->get(), kCuCaptureThreadLocal).ok());
    const Status status = kernel->launch(tensors.arguments, stream->get());
    INFO(status.message());
    REQUIRE(status.ok());
    CuGraph graph = nullptr;
    CuGraphExec executable = nullptr;
    REQUIRE(cu.cuStreamEndCapture(stream->get(), &graph).ok());
    REQUIRE(cu.cuGraphInstantiateWithFlags(&executable, graph, 0).ok());
    CHECK(fake_cuda::snapshot().launches.empty());
    REQUIRE(cu.cuGraphLaunch(executable, stream->get()).ok());
    REQUIRE(cu.cuGraphExecDestroy(executable).ok());
    REQUIRE(cu.cuGraphDestroy(graph).ok());
    const auto launches = fake_cuda::snapshot().launches;
    REQUIRE(launches.size() == 1);
    fake_cuda::reset();
    return launches[0].parameters[kWorkspaceWord];
  };
  const uint64_t first = capture();
  REQUIRE(kernel->launch(tensors.arguments, stream->get()).ok());
  CHECK(fake_cuda::snapshot().launches[0].parameters[kWorkspaceWord] != first);
}

TEST_CASE("a kernel is prepared, launched for the first time and given up while a graph is captured") {
  fake_cuda::reset();
  auto stream = Stream::create(device()), other = Stream::create(device());
  REQUIRE((stream.ok() && other.ok()));
  const Driver& cu = device().cu();
  Tensors tensors;
  const size_t memory = fake_cuda::snapshot().memory.size();
  std::unique_ptr<Kernel> captured, unused;
  REQUIRE(cu.cuStreamBeginCapture_v2(stream->get(), kCuCaptureThreadLocal).ok());
  captured = prepared(cubin_image());
  unused = prepared(cubin_image());
  CHECK(fake_cuda::snapshot().modules == 2);
  const Status launched = captured->launch(tensors.arguments, stream->get());
  INFO(launched.message());
  CHECK(launched.ok());
  CHECK(unused->launch(tensors.arguments, other->get()).ok());  // of a stream that is not captured
  unused.reset();
  CHECK(fake_cuda::snapshot().modules == 1);
  CuGraph graph = nullptr;
  CuGraphExec executable = nullptr;
  REQUIRE(cu.cuStreamEndCapture(stream->get(), &graph).ok());
  REQUIRE(cu.cuGraphInstantiateWithFlags(&executable, graph, 0).ok());
  CHECK(fake_cuda::snapshot().launches.size() == 1);
  for (size_t replay = 2; replay < 4; ++replay) {
    REQUIRE(cu.cuGraphLaunch(executable, stream->get()).ok());
    const auto launches = fake_cuda::snapshot().launches;
    REQUIRE(launches.size() == replay);
    // Where the launch of the other kernel differs is its workspace alone.
    for (size_t word = 0; word < launches[0].parameters.size(); ++word) {
      if (word != kWorkspaceWord) CHECK(launches[replay - 1].parameters[word] == launches[0].parameters[word]);
    }
  }
  REQUIRE(cu.cuGraphExecDestroy(executable).ok());
  REQUIRE(cu.cuGraphDestroy(graph).ok());
  captured.reset();
  CHECK(fake_cuda::snapshot().modules == 0);
  CHECK(fake_cuda::snapshot().memory.size() == memory);
}
