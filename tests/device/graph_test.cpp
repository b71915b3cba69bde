// Compiled programs captured in CUDA graphs: replayed over inputs that change, a graph leaves the bits that a launch
// leaves. Skipped where there is no driver.
#include <catch2/catch.hpp>
#include <functional>
#include <random>

#include "coda/coda.h"
#include "tests/device/gpu.h"

using namespace coda;
using testing::gpu;

namespace {

struct Program {
  const char* text;
  Bindings planned_for;  ///< of a block
  Bindings sizes;
};

// Statistics whose parts meet in a workspace.
const Program kStatistics = {
    "kernel residual(x: bf16[M, K], w: bf16[N, K], r: bf16[M, N], gain: bf16[N])\n"
    "    -> (h: bf16[M, N], scaled: bf16[M, N], squares: f32[M], columns: f32[N]) {\n"
    "  let stored: bf16 = r + x @ w.T\n  h = stored\n  scaled = stored * gain\n"
    "  squares = sum(stored*stored, over = N)\n  columns = sum(stored, over = M)\n}\n",
    {},
    {{"M", 70}, {"N", 136}, {"K", 72}}};

// Depth in parts that wait for one another, and are counted in a workspace.
const Program kParts = {
    "kernel few(x: bf16[M, K], w: bf16[N, K]) -> (y: bf16[M, N], amax: f32)\n"
    "schedule { split = 3 } {\n  let z = x @ w.T\n  y = z\n  amax = absmax(z, over = (M, N))\n}\n",
    {},
    {{"M", 9}, {"N", 150}, {"K", 264}}};

// What is read and written.
const Program kInPlace = {
    "kernel step(x: bf16[T, K], dz: bf16[T, N], inout p: f32[N, K], inout m: f32[N, K], rate: f32) -> (w: bf16[N, K]) "
    "{\n"
    "  m = 0.9*m + 0.1*(dz.T @ x)\n  p = p - rate*m\n  w = p\n}\n",
    {},
    {{"T", 72}, {"N", 75}, {"K", 40}}};

const Program kRows = {
    "kernel norm(x: bf16[M, D], r: bf16[M, D], gain: bf16[D]) -> (h: bf16[M, D], y: bf16[M, D]) {\n"
    "  h = x + r\n  y = rmsnorm(h, gain)\n}\n",
    {},
    {{"M", 33}, {"D", 520}}};

// Three kernels, with what is kept between them in a workspace.
const Program kBlock = {
    "block mlp(x: bf16[T, D], attn: bf16[T, A], wo: bf16[D, A], gain: bf16[D], w_gate_up: bf16[2*F, D],\n"
    "          w_down: bf16[D, F]) -> (y: bf16[T, D]) {\n"
    "  let h = x + attn @ wo.T\n  let (gate, up) = halves(rmsnorm(h, gain, eps = 1e-5) @ w_gate_up.T)\n"
    "  y = h + (silu(gate) * up) @ w_down.T\n}\n",
    {{"T", 8192}, {"D", 4096}, {"A", 4096}, {"F", 14336}},
    {{"T", 37}, {"D", 72}, {"A", 48}, {"F", 41}}};

// The norm's gain and bias are folded into the weights, once for each set of them.
const Program kFolded = {
    "block folded(x: bf16[T, D], attn: bf16[T, A], const wo: bf16[D, A], const g: bf16[D], const b: bf16[D],\n"
    "             const w: bf16[F, D]) -> (n: bf16[T, D], z: bf16[T, F]) {\n"
    "  let h = x + attn @ wo.T\n  let m = layernorm(h, g, b)\n  n = m\n  z = m @ w.T\n}\n",
    {{"T", 8192}, {"D", 4096}, {"A", 4096}, {"F", 14336}},
    {{"T", 37}, {"D", 77}, {"A", 24}, {"F", 51}}};

/// A program prepared for the GPU, with memory for its arguments.
class Prepared {
 public:
  Prepared(const Device& device, const Program& program) : device_(device) {
    auto image = compile_text({.text = program.text, .target = device.arch(), .dims = program.planned_for});
    INFO(image.status().message());
    REQUIRE(image.ok());
    auto kernel = prepare(*image, device.ordinal());
    INFO(kernel.status().message());
    REQUIRE(kernel.ok());
    kernel_ = std::move(*kernel);
    for (const ParamSpec& param : kernel_->signature().params) {
      Sizes shape;
      for (const Dim& dim : param.extents) shape.push_back(dim.evaluate(program.sizes).value());
      auto tensor = DeviceTensor::create(device, param.dtype, shape);
      REQUIRE(tensor.ok());
      if (param.role == ParamSpec::Role::Scalar) {
        arguments.emplace_back(0.25);
      } else {
        arguments.emplace_back(tensor->view);
      }
      tensors_.push_back(std::move(*tensor));
    }
  }

  Kernel& kernel() { return *kernel_; }

  /// Random inputs, and `poison` where there are outputs alone.
  void fill(uint32_t seed, uint8_t poison) {
    std::mt19937 random(seed);
    for (size_t i = 0; i < tensors_.size(); ++i) {
      const ParamSpec& param = kernel_->signature().params[i];
      const DeviceTensor& tensor = tensors_[i];
      if (param.role == ParamSpec::Role::Scalar || tensor.buffer.bytes() == 0) continue;
      if (param.role == ParamSpec::Role::Out) {
        REQUIRE(fill_bytes(device_, tensor.buffer.address(), poison, tensor.buffer.bytes()).ok());
        continue;
      }
      auto host = HostTensor::create(param.dtype, tensor.view.shape);
      REQUIRE(host.ok());
      const int64_t count = element_count(tensor.view.shape).value();
      for (int64_t at = 0; at < count; ++at) {
        store_element(host->view().data, param.dtype, at, static_cast<double>(random() % 2001) / 1000 - 1);
      }
      REQUIRE(copy_to_device(device_, tensor.buffer.address(), host->storage()).ok());
    }
  }

  /// All that the program writes.
  std::vector<uint8_t> results() const {
    std::vector<uint8_t> bytes;
    for (size_t i = 0; i < tensors_.size(); ++i) {
      const auto role = kernel_->signature().params[i].role;
      if (role != ParamSpec::Role::Out && role != ParamSpec::Role::InOut) continue;
      auto host = tensors_[i].to_host(device_);
      REQUIRE(host.ok());
      const auto storage = host->storage();
      bytes.insert(bytes.end(), storage.begin(), storage.end());
    }
    return bytes;
  }

  std::vector<Argument> arguments;

 private:
  const Device& device_;
  std::unique_ptr<Kernel> kernel_;
  std::vector<DeviceTensor> tensors_;
};

/// What `enqueue` does to a stream, as a graph.
class Graph {
 public:
  Graph(const Device& device, const Stream& stream, const std::function<void()>& enqueue) : cu_(device.cu()) {
    REQUIRE(cu_.cuStreamBeginCapture_v2(stream.get(), kCuCaptureThreadLocal).ok());
    enqueue();
    CuGraph graph = nullptr;
    const Status ended = cu_.cuStreamEndCapture(stream.get(), &graph);
    INFO(ended.message());
    REQUIRE(ended.ok());
    REQUIRE(cu_.cuGraphInstantiateWithFlags(&executable_, graph, 0).ok());
    CHECK(cu_.cuGraphDestroy(graph).ok());
  }
  ~Graph() { CHECK(cu_.cuGraphExecDestroy(executable_).ok()); }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  Status launch(const Stream& stream) const { return cu_.cuGraphLaunch(executable_, stream.get()); }

 private:
  const Driver& cu_;
  CuGraphExec executable_ = nullptr;
};

struct Machine {
  explicit Machine(const Device& its) : device(its), scope(its) {
    REQUIRE(scope.status().ok());
    auto made = Stream::create(its);
    REQUIRE(made.ok());
    stream = std::move(*made);
  }
  const Device& device;
  const ContextScope scope;
  Stream stream;
};

void launch(const Machine& machine, Prepared& program) {
  const Status status = program.kernel().launch(program.arguments, machine.stream.get());
  INFO(status.message());
  REQUIRE(status.ok());
}

/// Replays over other inputs each time, and after each a launch over the same.
void compare(const Machine& machine, Prepared& program, const std::function<Status(uint32_t seed)>& replay) {
  std::vector<uint8_t> before;
  for (const uint32_t seed : {1u, 2u, 3u, 4u}) {
    program.fill(seed, 0xff);
    const Status status = replay(seed);
    INFO(status.message());
    REQUIRE(status.ok());
    REQUIRE(machine.stream.synchronize().ok());
    const auto replayed = program.results();
    program.fill(seed, 0x5a);
    program.kernel().weights_changed();
    launch(machine, program);
    REQUIRE(machine.stream.synchronize().ok());
    CHECK(replayed == program.results());
    CHECK(replayed != before);
    before = replayed;
  }
}

}  // namespace

TEST_CASE("a replayed graph leaves the bits of a launch, whatever the inputs hold by then", "[graph]") {
  const Device* device = gpu();
  if (!device) return;
  const Machine machine(*device);
  for (const Program& program : {kStatistics, kParts, kInPlace, kRows, kBlock}) {
    INFO(program.text);
    Prepared prepared(*device, program);
    // Captured before anything else was launched.
    const Graph graph(*device, machine.stream, [&] { launch(machine, prepared); });
    compare(machine, prepared, [&](uint32_t) { return graph.launch(machine.stream); });
  }
}

TEST_CASE("a recorded program leaves the bits of a launch, and what is made of weights is made anew for it",
          "[graph]") {
  const Device* device = gpu();
  if (!device) return;
  const Machine machine(*device);
  for (const Program& program : {kStatistics, kBlock, kFolded}) {
    INFO(program.text);
    Prepared prepared(*device, program);
    prepared.fill(9, 0);
    auto recording = record(prepared.kernel(), prepared.arguments);
    INFO(recording.status().message());
    REQUIRE(recording.ok());
    compare(machine, prepared, [&](uint32_t) {
      prepared.kernel().weights_changed();
      const Status folded = prepared.kernel().fold(prepared.arguments, machine.stream.get());
      return folded.ok() ? (*recording)->launch(machine.stream.get()) : folded;
    });
  }
}

TEST_CASE("one graph holds several programs, two graphs of one program take turns, and launches come between",
          "[graph]") {
  const Device* device = gpu();
  if (!device) return;
  const Machine machine(*device);
  Prepared first(*device, kStatistics), second(*device, kBlock);
  first.fill(9, 0);
  second.fill(9, 0);
  const auto both = [&] {
    launch(machine, first);
    launch(machine, second);
  };
  const Graph one(*device, machine.stream, both), other(*device, machine.stream, both);
  for (Prepared* program : {&first, &second}) {
    compare(machine, *program, [&](uint32_t seed) {
      const Status status = (seed % 2 ? one : other).launch(machine.stream);
      return status.ok() ? (seed % 2 ? other : one).launch(machine.stream) : status;
    });
  }
}

TEST_CASE("what a capture can't take is named, and the capture goes on", "[graph]") {
  const Device* device = gpu();
  if (!device) return;
  const Machine machine(*device);
  Prepared folded(*device, kFolded), plain(*device, kStatistics);
  folded.fill(5, 0);
  {
    const Graph graph(*device, machine.stream, [&] {
      const Status early = folded.kernel().launch(folded.arguments, machine.stream.get());
      CHECK(early.code() == Code::Unsupported);
      CHECK(early.message().find("launch it once before, or fold()") != std::string::npos);
      auto wrong = plain.arguments;
      std::get<TensorView>(wrong[0]).dtype = DType::F16;
      const Status refused = plain.kernel().launch(wrong, machine.stream.get());
      CHECK(refused.code() == Code::InvalidArgument);
      CHECK(refused.message() == "argument 'x': its type is f16, expected bf16");
      launch(machine, plain);
    });
    compare(machine, plain, [&](uint32_t) { return graph.launch(machine.stream); });
  }
  REQUIRE(folded.kernel().fold(folded.arguments, machine.stream.get()).ok());
  const Graph graph(*device, machine.stream, [&] { launch(machine, folded); });
  compare(machine, folded, [&](uint32_t) {
    folded.kernel().weights_changed();
    const Status status = folded.kernel().fold(folded.arguments, machine.stream.get());
    return status.ok() ? graph.launch(machine.stream) : status;
  });
}
