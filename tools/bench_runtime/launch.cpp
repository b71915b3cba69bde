// Launching: the program's images, with code that does nothing.
#include "runtime/assemble.h"
#include "runtime/device.h"
#include "runtime/kernel.h"
#include "tools/bench_runtime/bench.h"
#include "tools/bench_runtime/count.h"

namespace bench {

using namespace coda;

namespace {

constexpr int kBatches = 100, kInBatch = 100;  // fewer in flight than the driver queues
constexpr int kSets = 16;                      // of arguments with addresses of their own

/// As many parameters of the same sizes.
std::string empty_ptx(const KernelImage& image) {
  std::string parameters;
  for (size_t i = 0; i < image.tensor_maps.size(); ++i) {
    parameters += ".param .align 64 .b8 m" + std::to_string(i) + "[128], ";
  }
  parameters += ".param .align 8 .b8 words[" + std::to_string(8 * image.words.size()) + "]";
  return ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry " + image.entry + "(" + parameters +
         ") { ret; }\n";
}

void empty(KernelImage& image) {
  const std::string ptx = empty_ptx(image);
  image.code.assign(ptx.begin(), ptx.end());
  image.code_kind = CodeKind::Ptx;
}

/// Values for the symbols: small and generous with factors.
std::vector<Argument> make_arguments(const Signature& signature, const Device& device,
                                     std::vector<DeviceTensor>& memory) {
  Bindings values = signature.bound;
  const auto extent = [&](const Dim& dim) {
    for (const std::string& symbol : dim.symbols()) values.emplace(symbol, 256);
    return dim.evaluate(values).value_or(256);
  };
  for (const FactSpec& fact : signature.facts) {
    if (fact.relation == "=" && !fact.modulus && fact.right.constant())
      values[fact.left.text()] = *fact.right.constant();
  }
  std::vector<Argument> arguments;
  for (const ParamSpec& param : signature.params) {
    if (param.role == ParamSpec::Role::Scalar) {
      arguments.push_back(1.0);
      continue;
    }
    Sizes shape;
    for (const Dim& dim : param.extents) shape.push_back(extent(dim));
    memory.push_back(must(DeviceTensor::create(device, param.dtype, shape)));
    arguments.push_back(memory.back().view);
  }
  return arguments;
}

/// Microseconds of one of `body`'s calls.
template <class F>
std::pair<double, double> time_calls(const Driver& cu, F body) {
  std::vector<double> times;
  for (int batch = 0; batch < kBatches; ++batch) {
    times.push_back(1000 / kInBatch * milliseconds([&] {
                      for (int i = 0; i < kInBatch; ++i) body(i);
                    }));
    must(cu.cuCtxSynchronize());
  }
  return {quantile(times, 0.5), quantile(times, 0.9)};
}

/// The same launches through the driver alone.
class BareLaunches {
 public:
  BareLaunches(const Device& device, const std::vector<const KernelImage*>& images) : cu_(device.cu()) {
    for (const KernelImage* image : images) {
      CuModule module = nullptr;
      const auto code = must(device_code(*image));
      must(cu_.cuModuleLoadDataEx(&module, code.data(), 0, nullptr, nullptr));
      Step& step = steps_.emplace_back();
      must(cu_.cuModuleGetFunction(&step.function, module, image->entry.c_str()));
      step.threads = static_cast<unsigned>(image->threads);
      step.shared = static_cast<unsigned>(image->shared_bytes);
      if (step.shared) must(cu_.cuFuncSetAttribute(step.function, kCuFunctionMaxDynamicShared, image->shared_bytes));
      for (size_t i = 0; i < image->tensor_maps.size(); ++i) step.parameters.push_back(block_);
      step.parameters.push_back(block_);
    }
  }
  void launch(CuStream stream) {
    for (Step& step : steps_) {
      must(cu_.cuLaunchKernel(step.function, 4, 1, 1, step.threads, 1, 1, step.shared, stream, step.parameters.data(),
                              nullptr));
    }
  }

 private:
  struct Step {
    CuFunction function = nullptr;
    unsigned threads = 0, shared = 0;
    std::vector<void*> parameters;
  };
  const Driver& cu_;
  alignas(128) char block_[4096] = {};
  std::vector<Step> steps_;
};

/// The most that anything took for each of its kernels, and all that was counted.
struct Worst {
  double steady = 0, fresh = 0;
  long allocations = 0, locks = 0;
};

/// What a call does beyond the bare launches.
template <class Bare, class Call>
void count(Worst& worst, Bare bare, Call call) {
  start_counting();
  for (int i = 0; i < kInBatch; ++i) bare();
  const Counts less = stop_counting();
  start_counting();
  for (int i = 0; i < kInBatch; ++i) call(i);
  const Counts more = stop_counting();
  worst.allocations += more.allocations - less.allocations;
  worst.locks += more.locks - less.locks;
}

void measure(const std::string& file, const Device& device, const Stream& stream, Worst& worst) {
  Image image = *must(load_artefact(file)).images.front();
  std::vector<const KernelImage*> kernels;
  if (auto* plan = std::get_if<PlanImage>(&image)) {
    for (PlanStep& step : plan->steps) {
      empty(step.kernel);
      if (!step.once) kernels.push_back(&step.kernel);
    }
  } else {
    empty(std::get<KernelImage>(image));
    kernels.push_back(&std::get<KernelImage>(image));
  }
  BareLaunches bare(device, kernels);
  const auto kernel = must(prepare(std::make_shared<const Image>(image), 0));
  std::vector<DeviceTensor> memory;
  std::vector<std::vector<Argument>> sets;
  for (int i = 0; i < kSets; ++i) sets.push_back(make_arguments(kernel->signature(), device, memory));
  for (const auto& set : sets) must(kernel->launch(set, stream.get()));

  const Driver& cu = device.cu();
  for (int i = 0; i < kInBatch; ++i) bare.launch(stream.get());
  must(cu.cuCtxSynchronize());
  const auto raw = time_calls(cu, [&](int) { bare.launch(stream.get()); });
  const auto steady = time_calls(cu, [&](int) { must(kernel->launch(sets[0], stream.get())); });
  const auto fresh =
      time_calls(cu, [&](int i) { must(kernel->launch(sets[static_cast<size_t>(i % kSets)], stream.get())); });
  const auto each = static_cast<double>(kernels.size());
  worst.steady = std::max(worst.steady, (steady.first - raw.first) / each);
  worst.fresh = std::max(worst.fresh, (fresh.first - raw.first) / each);
  count(
      worst, [&] { bare.launch(stream.get()); }, [&](int) { must(kernel->launch(sets[0], stream.get())); });
  must(cu.cuCtxSynchronize());
  std::printf(
      "%6.2f us bare  +%5.2f steady (90th percentile +%.2f)  +%5.2f fresh addresses (+%.2f)   %s, %zu kernels\n",
      raw.first, steady.first - raw.first, steady.second - raw.first, fresh.first - raw.first, fresh.second - raw.first,
      signature(image).name.c_str(), kernels.size());
}

/// What the driver takes for its part.
void driver_calls(const Device& device, const Stream& stream) {
  const Driver& cu = device.cu();
  const auto tensor = must(DeviceTensor::create(device, DType::BF16, {4096, 4096}));
  const auto address = reinterpret_cast<CuDevicePtr>(tensor.view.data);
  const auto report = [&](const char* name, auto call) {
    std::printf("%7.3f us %s\n", time_calls(cu, [&](int) { call(); }).first, name);
  };
  report("cuCtxGetCurrent", [&] {
    CuContext context = nullptr;
    must(cu.cuCtxGetCurrent(&context));
  });
  report("cuStreamGetCaptureInfo", [&] {
    int state = 0;
    unsigned long id = 0;
    must(cu.cuStreamGetCaptureInfo_v2(stream.get(), &state, &id, nullptr, nullptr, nullptr));
  });
  report("cuPointerGetAttributes", [&] {
    int kind = 0, ordinal = 0, wanted[] = {kCuPointerMemoryType, kCuPointerDevice};
    void* values[] = {&kind, &ordinal};
    must(cu.cuPointerGetAttributes(2, wanted, values, address));
  });
  CuTensorMap map;
  const uint64_t extents[] = {4096, 4096}, strides[] = {8192};
  const uint32_t box[] = {64, 128}, steps[] = {1, 1};
  report("cuTensorMapEncodeTiled", [&] {
    must(cu.cuTensorMapEncodeTiled(&map, kCuTensorBfloat16, 2, tensor.view.data, extents, strides, box, steps, 0,
                                   kCuTensorSwizzle128B, kCuTensorPromotion256B, 0));
  });
}

}  // namespace

bool launches(const std::vector<std::string>& files) {
  const Device& device = *must(Device::get(0));
  const ContextScope scope(device);
  must(scope.status());
  const Stream stream = must(Stream::create(device));
  driver_calls(device, stream);
  Worst worst;
  for (const std::string& file : files) measure(file, device, stream, worst);
  std::printf(
      "a kernel's launch takes at most +%.2f us of %.1f, with fresh addresses +%.2f of %.1f; %ld allocations, %ld "
      "locks\n",
      worst.steady, kMostSteadyMicroseconds, worst.fresh, kMostFreshMicroseconds, worst.allocations, worst.locks);
  return worst.steady <= kMostSteadyMicroseconds && worst.fresh <= kMostFreshMicroseconds && worst.allocations <= 0 &&
         worst.locks <= 0;
}

}  // namespace bench
