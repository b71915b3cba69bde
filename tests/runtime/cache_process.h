// What the tests of the cache share: keys, values, and children of the test's process.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <string>

#include "runtime/cache.h"

namespace coda::testing {

inline CacheKey key_of(const std::string& text) { return CacheKey().field("kind", "test").field("ptx", text); }

/// What key `n` stands for: long enough that writing it takes a while.
inline Cache::Bytes value_of(int n, size_t size = 100000) {
  Cache::Bytes bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<uint8_t>(i * 31 + static_cast<size_t>(n) * 7);
  return bytes;
}

inline DiskCache opened(const std::string& folder, int64_t limit = int64_t{1} << 30) {
  auto cache = DiskCache::open(folder, limit);
  INFO(cache.status().message());
  REQUIRE(cache.ok());
  return std::move(*cache);
}

inline std::string entry_file(const DiskCache& disk, const CacheKey& key) {
  return disk.folder() + "/entries/" + key.name();
}

inline Cache::Bytes contents(const std::string& path) {
  auto bytes = read_file(path, uint64_t{1} << 30);
  REQUIRE(bytes.ok());
  return std::move(*bytes);
}

inline void overwrite(const std::string& path, const Cache::Bytes& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

/// A child's exit code, or minus the signal that killed it.
inline int wait_for(pid_t child) {
  int state = 0;
  waitpid(child, &state, 0);
  return WIFEXITED(state) ? WEXITSTATUS(state) : -WTERMSIG(state);
}

/// Runs `body` in a child process, which exits with what it returns.
template <class F>
pid_t start_child(F body) {
  const pid_t child = fork();
  if (child == 0) _exit(body());
  return child;
}
template <class F>
int in_child(F body) {
  return wait_for(start_child(body));
}

inline long files_in(const std::string& folder) {
  return std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator());
}

}  // namespace coda::testing
