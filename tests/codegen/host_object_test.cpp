// Host images as artefacts: through the runtime's front door, damaged, and how long compiling takes.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <cstring>
#include <thread>

#include "host_case.h"
#include "runtime/kernel.h"

using namespace coda;
using namespace coda::test;

namespace {

const char* const kText =
    "kernel f(x: f32[M, K], w: f32[N, K], b: f32[N]) -> (y: f32[M, N], s: f32[M], c: f32[N]) {\n"
    "    let z = x @ w.T + b\n"
    "    y = tanh(z)\n"
    "    s = logsumexp(z, over = N)\n"
    "    c = max(z, over = M)\n}\n";

TensorView view_of(std::vector<float>& values, std::initializer_list<int64_t> shape) {
  TensorView view;
  view.data = values.data();
  view.dtype = DType::F32;
  view.shape = Sizes(shape);
  view.strides = contiguous_strides(view.shape);
  return view;
}

}  // namespace

TEST_CASE("host: launches from several threads share the pool", "[host]") {
  const HostProgram program = compile_for_host(kText);
  auto kernel = prepare(program.image, kHostDevice);
  INFO(kernel.status().message());
  REQUIRE(kernel.ok());
  constexpr int64_t kM = 150, kN = 270, kK = 64;
  std::vector<std::vector<float>> results(4);
  const auto work = [&](int which) {
    std::vector<float> x(kM * kK), w(kN * kK), b(kN, 0.25f), y(kM * kN), s(kM), c(kN);
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i % 13) / 16;
    for (size_t i = 0; i < w.size(); ++i) w[i] = static_cast<float>(i % 7) / -16;
    for (int round = 0; round < 5; ++round) {
      std::fill(y.begin(), y.end(), -1.0f);
      const Argument arguments[] = {view_of(x, {kM, kK}), view_of(w, {kN, kK}), view_of(b, {kN}),
                                    view_of(y, {kM, kN}), view_of(s, {kM}),     view_of(c, {kN})};
      if (!(*kernel)->launch(arguments, nullptr).ok()) return;
    }
    results[static_cast<size_t>(which)] = std::move(y);
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(work, i);
  for (std::thread& thread : threads) thread.join();
  REQUIRE(results[0].size() == kM * kN);
  for (const auto& result : results) REQUIRE(result == results[0]);
}

TEST_CASE("host: a child forked amid the launches of other threads launches as well", "[host]") {
  const HostProgram program = compile_for_host(kText);
  auto kernel = prepare(program.image, kHostDevice);
  REQUIRE(kernel.ok());
  constexpr int64_t kM = 150, kN = 270, kK = 64;
  const auto results = [&] {
    std::vector<float> x(kM * kK, 0.5f), w(kN * kK, 0.25f), b(kN, -7.5f), y(kM * kN), s(kM), c(kN);
    const Argument arguments[] = {view_of(x, {kM, kK}), view_of(w, {kN, kK}), view_of(b, {kN}),
                                  view_of(y, {kM, kN}), view_of(s, {kM}),     view_of(c, {kN})};
    return (*kernel)->launch(arguments, nullptr).ok() ? y : std::vector<float>();
  };
  const std::vector<float> expected = results();
  REQUIRE(expected.size() == kM * kN);
  std::atomic<bool> stop{false};
  std::atomic<int> failed{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      while (!stop) failed += results() != expected;
    });
  }
  for (int round = 0; round < 20; ++round) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);  // a lock that nobody gives back is waited for until then
      _exit(results() == expected && results() == expected ? 0 : 1);
    }
    int state = 0;
    REQUIRE(waitpid(child, &state, 0) == child);
    CHECK((WIFEXITED(state) && WEXITSTATUS(state) == 0));
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  CHECK(failed == 0);
}

TEST_CASE("host: a stored image runs as the compiled one", "[host]") {
  const HostProgram program = compile_for_host(kText);
  auto read = image_from_bytes(to_bytes(*program.image));
  REQUIRE(read.ok());
  HostProgram stored = program;
  stored.image = std::make_shared<const KernelImage>(std::move(*read));
  auto code = HostCode::load(*stored.image);
  REQUIRE(code.ok());
  stored.code = std::make_shared<const HostCode>(std::move(*code));
  run_and_check(stored, {.sizes = {{"M", 30}, {"N", 70}, {"K", 20}}, .ulps = 64});
}

TEST_CASE("host: damaged objects are refused or load, but never crash the loader", "[host]") {
  const HostProgram program = compile_for_host(kText);
  const std::vector<uint8_t>& good = program.image->code;
  REQUIRE(HostObject::load(good).ok());
  for (size_t length = 0; length < good.size(); length += 7) {
    const auto loaded = HostObject::load(std::span(good).first(length));
    CHECK_FALSE(loaded.ok());
    CHECK(loaded.status().code() == Code::Corrupt);
  }
  uint64_t state = 1;
  for (int i = 0; i < 20000; ++i) {
    std::vector<uint8_t> bad = good;
    for (int flips = 0; flips < 3; ++flips) {
      state = state * 6364136223846793005ull + 1442695040888963407ull;
      // Mostly in the header and the tables at the end, where the loader looks.
      const size_t span = (state >> 20) % 3 == 0 ? 64 : bad.size();
      bad[(state >> 33) % span] ^= static_cast<uint8_t>(1u << ((state >> 60) & 7));
    }
    const auto loaded = HostObject::load(bad);
    if (!loaded.ok()) CHECK_FALSE(loaded.status().message().empty());
  }
  KernelImage image = *program.image;
  image.entry = "other";
  const auto code = HostCode::load(image);
  REQUIRE_FALSE(code.ok());
  CHECK(code.status().message().find("other.geometry") != std::string::npos);
}

TEST_CASE("host: code for processors without AVX-512", "[host]") {
  run_and_check(compile_for_host(kText, {}, "haswell"), {.sizes = {{"M", 150}, {"N", 270}, {"K", 20}}, .ulps = 64});
  const HostProgram types = compile_for_host(
      "kernel f(x: f16[M, K], w: f16[N, K], b: bf16[N], t: i32[M, N], k: bool[M, N], o: u8[N], v: i64[M])\n"
      "    -> (y: bf16[M, N], q: e4m3[M, N], i: i32[M, N], s: f16[M, N], a: f32) {\n"
      "    let z = x @ w.T + b + t\n"
      "    y = select(k, z, sin(z))\n"
      "    q = z / 8\n"
      "    i = t * o - v\n"
      "    s = to_int(z * 3)\n"
      "    a = sum(z, over = (M, N))\n}\n",
      {}, "haswell");
  for (const int64_t stride : {1, 2}) {
    run_and_check(types, {.sizes = {{"M", 33}, {"N", 71}, {"K", 12}}, .pitch = 1, .last_stride = stride, .ulps = 64});
  }
  std::string reason;
  EpilogueProgram none;
  CHECK_FALSE(compile_host(none, {.cpu = "x86-64"}, reason));
  CHECK(reason.find("lacks avx2") != std::string::npos);
}

TEST_CASE("host: types that take less than a byte are refused with the reason", "[host]") {
  const std::string reason =
      refusal("kernel f(x: bf16[M, K], w: bf16[N, K]) -> (y: e2m1[M, N]) {\n    y = x @ w.T\n}\n");
  CHECK(reason.find("less than a byte") != std::string::npos);
}

TEST_CASE("host: text to object stays well below 150 ms of processor time", "[host]") {
  const clock_t start = clock();
  const HostProgram program = compile_for_host(kText);
  const double ms = 1e3 * static_cast<double>(clock() - start) / CLOCKS_PER_SEC;
  WARN("text to loaded code: " << ms << " ms of processor time (" << program.front_ms << " front end, "
                               << program.host_ms << " host code, wall)");
  CHECK(ms < 450);  // three times the aim: sanitizers and old machines pass, a blow-up does not
}
