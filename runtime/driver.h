// libcuda, loaded at run time: a table of its functions, each of which reports failure as a Status that names the call.
#pragma once

#include <atomic>
#include <string>

#include "coda/status.h"
#include "runtime/driver_types.h"

namespace coda {

class Driver;

/// One entry point. Calling it fails without calling the driver in a process forked after the driver was loaded:
/// CUDA does not survive fork(), and would hang or crash.
template <class... Args>
class DriverCall {
 public:
  Status operator()(Args... args) const;
  /// The driver's own result, for the few places where failure is an answer.
  CuResult raw(Args... args) const { return function(args...); }
  /// Whether the driver has it; of the optional ones.
  bool exists() const { return function != nullptr; }

  const Driver* driver = nullptr;
  const char* name = nullptr;
  CuResult (*function)(Args...) = nullptr;
};

class Driver {
 public:
#define CODA_DRIVER(symbol, ...) DriverCall<__VA_ARGS__> symbol;
#include "runtime/driver_table.def"
#undef CODA_DRIVER

  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  /// Ok, or "cuMemAlloc_v2 failed: out of memory (CUDA_ERROR_OUT_OF_MEMORY)".
  Status check(CuResult result, const char* call) const;
  int version() const { return version_; }  ///< e.g. 13000
  bool forked() const;
  Status forked_status() const;

  /// Loads `path` and initialises it. For tests; others use driver(). Never unloaded: its threads may still run.
  static Expected<const Driver*> load(const std::string& path);

 private:
  Driver() = default;

  int version_ = 0;
  int generation_ = 0;  ///< number of forks seen when this was loaded
};

/// The process's driver, loaded on the first call. NotFound where there is no driver or no device.
Expected<const Driver*> driver();

template <class... Args>
Status DriverCall<Args...>::operator()(Args... args) const {
  if (driver->forked()) return driver->forked_status();
  const CuResult result = function(args...);
  return result == kCuSuccess ? Status() : driver->check(result, name);
}

}  // namespace coda
