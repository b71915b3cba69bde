#include "runtime/cache.h"

#include <unistd.h>

#include "runtime/options.h"
#include "runtime/process_mutex.h"

namespace coda {

Expected<Cache::Bytes> Cache::get_or_make(const CacheKey& key, const Make& make) {
  std::shared_ptr<Slot> slot;
  {
    const std::lock_guard lock(mutex_);
    auto& entry = slots_[key.bytes()];
    if (!entry) entry = std::make_shared<Slot>();
    slot = entry;
  }
  const std::lock_guard lock(slot->mutex);  // threads that want the same thing wait here
  if (slot->value) return *slot->value;
  if (!disk_) return make_and_publish(key, make, *slot);
  if (auto value = disk_->find(key)) return std::move(*value);
  const FileHandle held = disk_->lock(key, wait_);
  if (auto value = disk_->find(key)) return std::move(*value);  // made while we waited
  return make_and_publish(key, make, *slot);
}

Expected<Cache::Bytes> Cache::make_and_publish(const CacheKey& key, const Make& make, Slot& slot) {
  auto value = make();
  if (!value) return value.status();
  const Status published = disk_ ? disk_->store(key, *value) : Status();
  if (!published.ok()) warn_once("unpublished", "compiled code is not cached: " + published.message());
  if (!disk_ || !published.ok()) slot.value = *value;
  return value;
}

namespace {

struct Candidate {
  std::string folder;
  bool chosen = false;  ///< by CODA_CACHE_DIR
};

std::vector<Candidate> candidates() {
  struct Place {
    Option option;
    std::string below;
  };
  const Place places[] = {{Option::CacheDir, ""},
                          {Option::XdgCacheHome, "/coda"},
                          {Option::Home, "/.cache/coda"},
                          {Option::TempDir, "/coda-cache-" + std::to_string(::geteuid())}};
  std::vector<Candidate> found;
  for (const Place& place : places) {
    const std::string base = option(place.option);
    if (!base.empty()) found.push_back({base + place.below, place.option == Option::CacheDir});
  }
  return found;
}

int64_t limit_bytes() { return option_number(Option::CacheMegabytes, int64_t{1} << 30) << 20; }

}  // namespace

Expected<DiskCache> open_default_disk_cache() {
  std::string reasons;
  for (const Candidate& candidate : candidates()) {
    auto cache = DiskCache::open(candidate.folder, limit_bytes());
    if (cache) return cache;
    reasons += (reasons.empty() ? "" : "; ") + cache.status().message();
    if (candidate.chosen) warn_once("folder", "CODA_CACHE_DIR is not used: " + cache.status().message());
  }
  return Status(Code::Io, "no folder for the cache of compiled kernels: " + reasons);
}

Expected<DiskCache> existing_disk_cache() {
  std::string absent;
  for (const Candidate& candidate : candidates()) {
    auto cache = DiskCache::open_existing(candidate.folder, limit_bytes());
    if (cache) return cache;
    if (candidate.chosen) return cache.status().with_context("CODA_CACHE_DIR");
    if (cache.status().code() == Code::NotFound && absent.empty()) absent = cache.status().message();
  }
  return Status(Code::NotFound, absent.empty() ? "there is no folder for a cache" : absent);
}

Cache* Cache::of_process() {
  // Made anew after a fork: another thread may have held a lock of the old one. Never destroyed.
  static auto* mutex = new ProcessMutex;
  static Cache* cache = nullptr;
  static pid_t owner = 0;
  const std::lock_guard lock(*mutex);
  if (owner == ::getpid()) return cache;
  owner = ::getpid();
  cache = nullptr;
  const std::string mode = option(Option::Cache);
  if (mode == "off") return cache;
  const std::chrono::seconds wait(option_number(Option::CacheWait, 3600));
  std::optional<DiskCache> disk;
  if (mode != "memory") {
    auto opened = open_default_disk_cache();
    if (!opened) warn_once("no folder", opened.status().message());
    if (opened) disk = std::move(*opened);
  }
  cache = new Cache(std::move(disk), wait);
  return cache;
}

}  // namespace coda
