// A folder of cache entries that many processes use at once. An entry is one file, written in a staging folder, synced
// and renamed; what is read is believed only if its length, checksum and key are right. Failures cost time, never
// results: whoever can't publish goes on with what it has in memory.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "coda/status.h"
#include "runtime/cache_key.h"
#include "runtime/format/file_io.h"

namespace coda {

class DiskCache {
 public:
  /// Creates what is missing, readable for this user alone. Refused: a folder of someone else, or that others may
  /// write to. A folder that can't be written but has entries is used for reading.
  static Expected<DiskCache> open(const std::string& folder, int64_t limit_bytes);
  /// Makes nothing: NotFound if the folder has no entries' folder yet.
  static Expected<DiskCache> open_existing(const std::string& folder, int64_t limit_bytes);

  const std::string& folder() const { return folder_; }

  /// Nothing if there is no good entry; a corrupt one is deleted and reported once.
  std::optional<std::vector<uint8_t>> find(const CacheKey& key) const;
  Status store(const CacheKey& key, std::span<const uint8_t> value) const;

  /// Held while one process compiles what others wait for. Empty if `wait` passed or locks don't work here: compile
  /// anyway.
  FileHandle lock(const CacheKey& key, std::chrono::milliseconds wait) const;

  struct Usage {
    int64_t entries = 0, bytes = 0;
  };
  Usage usage() const;
  struct Listed {
    std::string file, key;  ///< `key`: its bytes, empty of what is corrupt
    int64_t bytes = 0;
    bool good = false;  ///< length and checksum are right, and the key is the one that the file's name says
  };
  /// All entries, read and checked; least recently used first.
  std::vector<Listed> list() const;
  /// Removes entries, least recently used first, until at most `limit_bytes` are left; 0 removes all.
  void trim(int64_t limit_bytes) const;

 private:
  std::string path(const char* part, const std::string& name) const { return folder_ + "/" + part + "/" + name; }

  std::string folder_;
  int64_t limit_bytes_ = 0;
};

/// "coda: warning: ..." on stderr, once in a process for each topic.
void warn_once(std::string_view topic, const std::string& text);

}  // namespace coda
