// A CUDA driver of host memory for tests: it runs no code, but keeps what it was told, obeys the real driver's rules
// about alignment, contexts and graph capture, and fails on demand.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "runtime/driver_types.h"
#include "tests/runtime/fake_cuda/encoded_map.h"

namespace fake_cuda {

struct Launch {
  std::string entry;
  coda::CuFunction function = nullptr;
  unsigned grid = 0, threads = 0, shared = 0;
  coda::CuStream stream = nullptr;
  int device = 0;
  bool dependent = false;            ///< it may begin before the launch in front of it has ended
  std::vector<uint64_t> parameters;  ///< as 64-bit words; a tensor map is 16 of them
};

/// What a driver that does run code adds: it gets the modules, and is told of memory and launches.
class Machine {
 public:
  virtual ~Machine() = default;
  virtual int sm_count() const = 0;
  /// A module of PTX; null, with what is wrong in `log`.
  virtual coda::CuModule load(const char* text, std::string& log) = 0;
  virtual void unload(coda::CuModule module) = 0;
  virtual coda::CuFunction function(coda::CuModule module, const std::string& name) = 0;  ///< null if there is none
  virtual std::vector<size_t> parameter_bytes(coda::CuFunction function) = 0;
  /// Runs a kernel to its end; what went wrong, if anything.
  virtual std::string launch(coda::CuFunction function, const Launch& launch) = 0;
  virtual void allocated(uintptr_t address, size_t bytes) = 0;
  virtual void freed(uintptr_t address) = 0;
  virtual void written(uintptr_t address, size_t bytes) = 0;
  /// Memory that the host reads; what is wrong with it, if anything.
  virtual std::string read(uintptr_t address, size_t bytes) = 0;
};
/// From now on the driver has one device, that machine. Called before anything else.
void use_machine(Machine* machine);

struct State {
  int devices = 2;  ///< 0 is sm_90 with 132 SMs, 1 is sm_80 with 108
  std::vector<Launch> launches;
  std::function<void(const Launch&)> on_launch;
  std::map<std::string, int> failures;                 ///< result of the next call of that name
  std::map<std::string, int> calls;                    ///< how often each was called
  std::map<uintptr_t, std::pair<size_t, int>> memory;  ///< address -> bytes, device
  std::map<int, int> function_attributes;
  uint64_t captures = 0;
  int64_t modules = 0;  ///< loaded and not unloaded, since the last reset
  /// Bytes of each kernel parameter, which the real driver reads from the module: the sample's two maps and its words.
  std::vector<size_t> parameter_bytes{128, 128, 112};
};

/// Copies the state under the driver's lock.
State snapshot();
void reset();
void fail_next(const std::string& call, int result);
void on_launch(std::function<void(const Launch&)> function);
void set_parameter_bytes(std::vector<size_t> bytes);
/// Whether this thread is in a call of the driver.
bool inside();
/// The file this driver was loaded from.
std::string library_path();

}  // namespace fake_cuda
