// Measured schedules in a file: JSON, one entry for each program, bucket of sizes, device and compiler. Entries may be
// copied between files by hand; what no longer holds is found out when it is used.
#pragma once

#include <map>
#include <string>
#include <tuple>

#include "coda/status.h"
#include "runtime/jit/jit.h"

namespace coda {

struct TunedKey {
  std::string program, sizes, device, compiler;
  bool operator<(const TunedKey& other) const {
    return std::tie(program, sizes, device, compiler) <
           std::tie(other.program, other.sizes, other.device, other.compiler);
  }
};
struct TunedSchedule {
  std::string name;
  int split = 1, tail = 0;
  double milliseconds = 0;
};

class TunedFile {
 public:
  /// Empty if there is no file.
  static Expected<TunedFile> read(const std::string& path);
  Status write(const std::string& path) const;
  /// The only one for this key; a key without a device is any device's.
  const TunedSchedule* find(const TunedKey& key) const;
  void put(const TunedKey& key, const TunedSchedule& schedule) { entries_[key] = schedule; }
  size_t size() const { return entries_.size(); }

 private:
  std::map<TunedKey, TunedSchedule> entries_;
};

/// "K=4096 M=16": every size rounded up to three significant bits, so that near sizes share an entry.
std::string size_bucket(const Bindings& dims);
/// Of a kernel that is lowered.
TunedKey tuned_key(const EpilogueProgram& epilogue, const Bindings& dims, const std::string& device);

/// Asks for the schedule that the file has for the request's kernel and sizes on `device` (empty: any), unless a
/// schedule is asked for already. What to tell the user where none is taken, else empty.
std::string apply_tuned(const std::string& path, const std::string& device, CompileRequest& request);

}  // namespace coda
