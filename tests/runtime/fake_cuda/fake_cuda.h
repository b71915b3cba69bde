// A CUDA driver of host memory for tests: it runs no code, but keeps what it was told, obeys the real driver's rules
// about alignment, contexts and graph capture, and fails on demand.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "runtime/driver_types.h"

namespace fake_cuda {

struct Launch {
  std::string entry;
  unsigned grid = 0, threads = 0, shared = 0;
  coda::CuStream stream = nullptr;
  std::vector<uint64_t> parameters;  ///< as 64-bit words; a tensor map is 16 of them
};

/// What cuTensorMapEncodeTiled writes into a map.
struct EncodedMap {
  uint64_t magic, address, rank, type, extents[5], strides[4], box01, swizzle;
};
inline constexpr uint64_t kMapMagic = 0x7465736e6f72;

struct State {
  int devices = 2;  ///< 0 is sm_90 with 132 SMs, 1 is sm_80 with 108
  std::vector<Launch> launches;
  std::function<void(const Launch&)> on_launch;
  std::map<std::string, int> failures;                 ///< result of the next call of that name
  std::map<std::string, int> calls;                    ///< how often each was called
  std::map<uintptr_t, std::pair<size_t, int>> memory;  ///< address -> bytes, device
  std::map<int, int> function_attributes;
  uint64_t captures = 0;
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
