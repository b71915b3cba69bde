// Compiled code, kept between runs on disk and, where that fails, within one. Several threads, processes and forks may
// ask for the same thing at once; it is made once where locks work, and correctly in any case.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "runtime/disk_cache.h"

namespace coda {

class Cache {
 public:
  using Bytes = std::vector<uint8_t>;
  using Make = std::function<Expected<Bytes>()>;

  /// Without a disk: this process only.
  explicit Cache(std::optional<DiskCache> disk, std::chrono::milliseconds wait = std::chrono::seconds(20))
      : disk_(std::move(disk)), wait_(wait) {}

  /// The cached value, or what `make` returns, which is then kept. Only `make` can fail.
  Expected<Bytes> get_or_make(const CacheKey& key, const Make& make);

  const DiskCache* disk() const { return disk_ ? &*disk_ : nullptr; }

  /// The process's cache as the options say; null if it is off. A forked child gets its own.
  static Cache* of_process();

 private:
  struct Slot {
    std::mutex mutex;
    std::optional<Bytes> value;
  };

  Expected<Bytes> make_and_publish(const CacheKey& key, const Make& make, Slot& slot);

  std::optional<DiskCache> disk_;
  std::chrono::milliseconds wait_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Slot>> slots_;
};

/// The first usable folder of those the options name; says why if none is.
Expected<DiskCache> open_default_disk_cache();
/// The folder that open_default_disk_cache() would use, for whoever looks at it or empties it: nothing is made, and
/// where CODA_CACHE_DIR names a folder, no other takes its place. NotFound if there is none yet.
Expected<DiskCache> existing_disk_cache();

}  // namespace coda
