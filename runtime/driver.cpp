#include "runtime/driver.h"

#include <dlfcn.h>
#include <pthread.h>

#include <memory>
#include <mutex>

#include "runtime/options.h"

namespace coda {

namespace {

std::atomic<int> fork_generation{0};

void watch_forks() {
  static std::once_flag once;
  std::call_once(once, [] { pthread_atfork(nullptr, nullptr, [] { ++fork_generation; }); });
}

template <class... Args>
bool resolve(void* library, const Driver* driver, DriverCall<Args...>& call, const char* name) {
  call.driver = driver;
  call.name = name;
  call.function = reinterpret_cast<CuResult (*)(Args...)>(dlsym(library, name));
  return call.function != nullptr;
}

}  // namespace

Expected<const Driver*> Driver::load(const std::string& path) {
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char* reason = dlerror();
    return Status(Code::NotFound, "no CUDA driver: " + std::string(reason ? reason : path));
  }
  watch_forks();
  std::unique_ptr<Driver> driver(new Driver);
  driver->generation_ = fork_generation.load();
#define CODA_DRIVER(symbol, ...)                                                                                       \
  if (!resolve(library, driver.get(), driver->symbol, #symbol)) {                                                      \
    return Status(Code::Unsupported, "the CUDA driver '" + path + "' has no " #symbol "; CUDA 12 or later is needed"); \
  }
#define CODA_DRIVER_OPTIONAL(symbol, ...) (void)resolve(library, driver.get(), driver->symbol, #symbol);
#include "runtime/driver_table.def"
#undef CODA_DRIVER
  if (Status status = driver->cuInit(0); !status.ok()) {
    return Status(Code::NotFound, "no usable CUDA device: " + status.message());
  }
  if (Status status = driver->cuDriverGetVersion(&driver->version_); !status.ok()) return status;
  return static_cast<const Driver*>(driver.release());
}

Status Driver::check(CuResult result, const char* call) const {
  if (result == kCuSuccess) return {};
  const char *name = nullptr, *text = nullptr;
  if (cuGetErrorName.raw(result, &name) != kCuSuccess || !name) name = "unknown error";
  if (cuGetErrorString.raw(result, &text) != kCuSuccess || !text) text = "CUDA error";
  const Code code = result == kCuOutOfMemory ? Code::OutOfMemory : Code::Driver;
  return {code, std::string(call) + " failed: " + text + " (" + name + ", " + std::to_string(result) + ")"};
}

bool Driver::forked() const { return fork_generation.load(std::memory_order_relaxed) != generation_; }

Status Driver::forked_status() const {
  return {Code::Unsupported,
          "CUDA was initialised before this process was forked, and does not work in the child; start the child with "
          "spawn or exec, or use CUDA only after the fork"};
}

Expected<const Driver*> driver() {
  static const Expected<const Driver*> loaded = Driver::load(option(Option::DriverPath));
  return loaded;
}

}  // namespace coda
