// A libcuda that runs kernels: the fake driver's calls, and the emulator as its only device. It has few SMs, so that
// small problems make kernels take several tiles: $CODA_EMULATED_SMS, or 4.
//
// $CODA_EMULATED_REPORT=1 prints each launch with its instructions and its time.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "tests/ptx/emulator/emulator.h"
#include "tests/runtime/fake_cuda/fake_cuda.h"

namespace coda::ptx {
namespace {

class EmulatedMachine final : public fake_cuda::Machine {
 public:
  int sm_count() const override {
    const char* text = std::getenv("CODA_EMULATED_SMS");
    const int count = text ? std::atoi(text) : 0;
    return count > 0 ? count : 4;
  }

  CuModule load(const char* text, std::string& log) override {
    Parsed parsed = parse(text);
    log = parsed.wrong;
    return reinterpret_cast<CuModule>(parsed.module.release());
  }
  void unload(CuModule module) override { delete reinterpret_cast<Module*>(module); }

  CuFunction function(CuModule module, const std::string& name) override {
    auto& kernels = reinterpret_cast<Module*>(module)->kernels;
    const auto it = kernels.find(name);
    return it == kernels.end() ? nullptr : reinterpret_cast<CuFunction>(&it->second);
  }
  std::vector<size_t> parameter_bytes(CuFunction function) override {
    std::vector<size_t> bytes;
    for (const Parameter& parameter : kernel_of(function).parameters) bytes.push_back((parameter.bytes + 7) / 8 * 8);
    return bytes;
  }

  std::string launch(CuFunction function, const fake_cuda::Launch& launch) override {
    const Kernel& kernel = kernel_of(function);
    Launch what;
    what.grid = launch.grid;
    what.threads = launch.threads;
    what.dynamic_shared = launch.shared;
    what.sms = static_cast<unsigned>(sm_count());
    what.parameters.resize(kernel.parameter_bytes);
    const auto* from = reinterpret_cast<const uint8_t*>(launch.parameters.data());
    for (const Parameter& parameter : kernel.parameters) {
      std::memcpy(&what.parameters[parameter.offset], from, parameter.bytes);
      from += (parameter.bytes + 7) / 8 * 8;
    }
    const std::lock_guard lock(mutex_);
    const auto start = std::chrono::steady_clock::now();
    const Ran ran = run(kernel, what, memory_);
    if (reports()) {
      const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      const double instructions = static_cast<double>(ran.instructions);
      std::fprintf(stderr, "emulated %s: grid %u of %u threads, %.2e instructions of warps in %.3f s, %.1e a second\n",
                   kernel.name.c_str(), launch.grid, launch.threads, instructions, seconds, instructions / seconds);
    }
    return ran.wrong;
  }

  void allocated(uintptr_t address, size_t bytes) override {
    const std::lock_guard lock(mutex_);
    memory_.add(address, bytes);
  }
  void freed(uintptr_t address) override {
    const std::lock_guard lock(mutex_);
    memory_.remove(address);
  }
  void written(uintptr_t address, size_t bytes) override {
    const std::lock_guard lock(mutex_);
    memory_.written(address, bytes);
  }
  std::string read(uintptr_t address, size_t bytes) override {
    const std::lock_guard lock(mutex_);
    return memory_.all_defined(address, bytes) ? "" : "a kernel stored an undefined value in what the host reads";
  }

 private:
  static bool reports() {
    const char* text = std::getenv("CODA_EMULATED_REPORT");
    return text && *text;
  }
  static const Kernel& kernel_of(CuFunction function) { return *reinterpret_cast<const Kernel*>(function); }

  std::mutex mutex_;
  GlobalMemory memory_;
};

const bool kUsed = [] {
  static auto* machine = new EmulatedMachine;
  fake_cuda::use_machine(machine);
  return true;
}();

}  // namespace
}  // namespace coda::ptx
