#include "runtime/disk_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <set>
#include <thread>

#include "runtime/format/archive.h"
#include "runtime/process_mutex.h"

namespace coda {

namespace {

constexpr uint64_t kMagic = 0x0a544e4541444f43;  // "CODAENT\n"
constexpr uint32_t kVersion = 1;
constexpr int64_t kMaxEntryBytes = int64_t{1} << 30;
constexpr const char *kEntries = "entries", *kStaging = "staging", *kLocks = "locks";
constexpr time_t kTouchSeconds = 600;       // an entry's age is kept no finer than this
constexpr time_t kAbandonedSeconds = 3600;  // after which a staged file has lost its writer

std::vector<uint8_t> encode(const CacheKey& key, std::span<const uint8_t> value) {
  Writer writer;
  writer.field(kMagic);
  writer.field(kVersion);
  writer.field(key.bytes());
  writer.bytes({value.begin(), value.end()});
  std::vector<uint8_t> bytes = writer.take();
  const Hash128 sum = hash_bytes(bytes);
  Writer tail;
  tail.field(sum.high);
  tail.field(sum.low);
  const auto end = tail.take();
  bytes.insert(bytes.end(), end.begin(), end.end());
  return bytes;
}

/// False if it is corrupt; the key stays empty if it is of another version.
bool decode(std::span<const uint8_t> bytes, std::string& key, std::vector<uint8_t>& value) {
  constexpr size_t kSumBytes = 16;
  if (bytes.size() < kSumBytes) return false;
  const auto body = bytes.first(bytes.size() - kSumBytes);
  Hash128 sum;
  Reader tail(bytes.last(kSumBytes));
  tail.field(sum.high);
  tail.field(sum.low);
  if (hash_bytes(body) != sum) return false;
  Reader reader(body);
  uint64_t magic = 0;
  uint32_t version = 0;
  std::string stored_key;
  reader.field(magic);
  reader.field(version);
  reader.field(stored_key);
  reader.bytes(value);
  if (!reader.ok() || !reader.at_end() || magic != kMagic) return false;
  if (version == kVersion) key = std::move(stored_key);
  return true;
}

/// Makes the folder and those above it, for this user alone.
Status make_folders(const std::string& folder) {
  for (size_t end = folder.find('/', 1);; end = folder.find('/', end + 1)) {
    const std::string part = folder.substr(0, end);
    if (::mkdir(part.c_str(), 0700) != 0 && errno != EEXIST) {
      const int error = errno;
      struct stat info {};
      if (::stat(part.c_str(), &info) != 0) return errno_status("cannot make the folder", part, error);
    }
    if (end == std::string::npos) return {};
  }
}

Status check_owner(const std::string& folder) {
  struct stat info {};
  if (::stat(folder.c_str(), &info) != 0) return errno_status("cannot use the folder", folder, errno);
  if (!S_ISDIR(info.st_mode)) return {Code::Io, "'" + folder + "' is not a folder"};
  if (info.st_uid != ::geteuid()) return {Code::Io, "the folder '" + folder + "' belongs to another user"};
  if (info.st_mode & (S_IWGRP | S_IWOTH)) return {Code::Io, "others may write to the folder '" + folder + "'"};
  return {};
}

/// From now, in either direction: the clock may have been put back.
bool is_far(const struct timespec& time, time_t seconds) {
  struct timespec now {};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec - time.tv_sec > seconds || time.tv_sec - now.tv_sec > seconds;
}

struct File {
  std::string path;
  int64_t bytes = 0;
  struct timespec used {};
};

std::vector<File> files_of(const std::string& folder) {
  std::vector<File> files;
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(::opendir(folder.c_str()), &::closedir);
  while (const dirent* entry = dir ? ::readdir(dir.get()) : nullptr) {
    File file{folder + "/" + entry->d_name};
    struct stat info {};
    if (::lstat(file.path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) continue;
    file.bytes = info.st_size;
    file.used = info.st_mtim;
    files.push_back(std::move(file));
  }
  return files;
}

/// Least recently used first.
std::vector<File> by_use(std::vector<File> files) {
  std::sort(files.begin(), files.end(), [](const File& a, const File& b) {
    return std::pair(a.used.tv_sec, a.used.tv_nsec) < std::pair(b.used.tv_sec, b.used.tv_nsec);
  });
  return files;
}

}  // namespace

void warn_once(std::string_view topic, const std::string& text) {
  static auto* mutex = new ProcessMutex;
  static auto* seen = new std::set<std::string, std::less<>>;
  const std::lock_guard lock(*mutex);
  if (seen->insert(std::string(topic)).second) std::fprintf(stderr, "coda: warning: %s\n", text.c_str());
}

Expected<DiskCache> DiskCache::open(const std::string& folder, int64_t limit_bytes) {
  if (folder.empty() || folder[0] != '/') return Status(Code::InvalidArgument, "a cache needs an absolute path");
  for (const char* part : {kEntries, kStaging, kLocks}) {
    const Status status = make_folders(folder + "/" + part);
    const bool has_entries = ::access((folder + "/" + kEntries).c_str(), R_OK | X_OK) == 0;
    if (!status.ok() && !has_entries) return status;
  }
  return open_existing(folder, limit_bytes);
}

Expected<DiskCache> DiskCache::open_existing(const std::string& folder, int64_t limit_bytes) {
  if (folder.empty() || folder[0] != '/') return Status(Code::InvalidArgument, "a cache needs an absolute path");
  if (Status status = check_owner(folder); !status.ok()) return status;
  if (Status status = check_owner(folder + "/" + kEntries); !status.ok()) return status;
  DiskCache cache;
  cache.folder_ = folder;
  cache.limit_bytes_ = limit_bytes;
  return cache;
}

std::optional<std::vector<uint8_t>> DiskCache::find(const CacheKey& key) const {
  const std::string file = path(kEntries, key.name());
  uint64_t size = 0;
  auto handle = open_regular(file, size);  // opening a FIFO would wait for its writer
  if (!handle || size > static_cast<uint64_t>(kMaxEntryBytes)) return std::nullopt;
  struct stat info {};
  if (::fstat(handle->get(), &info) != 0) return std::nullopt;
  std::string stored;
  std::vector<uint8_t> bytes(static_cast<size_t>(size)), value;
  if (!read_at(*handle, file, 0, bytes).ok() || !decode(bytes, stored, value)) {
    warn_once("corrupt", "the cache entry '" + file + "' was corrupt and is made anew");
    ::unlink(file.c_str());
    return std::nullopt;
  }
  if (stored != key.bytes()) return std::nullopt;
  if (is_far(info.st_mtim, kTouchSeconds)) ::futimens(handle->get(), nullptr);
  return value;
}

Status DiskCache::store(const CacheKey& key, std::span<const uint8_t> value) const {
  const std::vector<uint8_t> bytes = encode(key, value);
  const auto size = static_cast<int64_t>(bytes.size());
  if (size > limit_bytes_ || size > kMaxEntryBytes) return {Code::Io, "the entry is larger than the cache may be"};
  const Status status = write_file_whole(path(kEntries, key.name()), bytes, folder_ + "/" + kStaging, 0600);
  if (status.ok() && usage().bytes > limit_bytes_) trim(limit_bytes_);
  return status;
}

FileHandle DiskCache::lock(const CacheKey& key, std::chrono::milliseconds wait) const {
  auto file = FileHandle::open(path(kLocks, key.name().substr(0, 3)), O_RDWR | O_CREAT, 0600);
  if (!file) return {};
  const auto deadline = std::chrono::steady_clock::now() + wait;
  auto pause = std::chrono::milliseconds(1);
  while (::flock(file->get(), LOCK_EX | LOCK_NB) != 0) {
    if ((errno != EWOULDBLOCK && errno != EINTR) || std::chrono::steady_clock::now() >= deadline) return {};
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::milliseconds(50));
  }
  return std::move(*file);
}

DiskCache::Usage DiskCache::usage() const {
  Usage usage;
  for (const File& file : files_of(folder_ + "/" + kEntries)) {
    ++usage.entries;
    usage.bytes += file.bytes;
  }
  return usage;
}

std::vector<DiskCache::Listed> DiskCache::list() const {
  std::vector<Listed> entries;
  for (const File& file : by_use(files_of(folder_ + "/" + kEntries))) {
    Listed entry{file.path.substr(file.path.rfind('/') + 1), "", file.bytes, false};
    std::vector<uint8_t> value;
    auto bytes = read_file(file.path, static_cast<uint64_t>(kMaxEntryBytes));
    entry.good = bytes && decode(*bytes, entry.key, value) && entry.file == CacheKey::name_of(entry.key);
    entries.push_back(std::move(entry));
  }
  return entries;
}

void DiskCache::trim(int64_t limit_bytes) const {
  const std::vector<File> files = by_use(files_of(folder_ + "/" + kEntries));
  int64_t total = 0;
  for (const File& file : files) total += file.bytes;
  for (const File& file : files) {
    if (total <= limit_bytes) break;
    total -= file.bytes;
    ::unlink(file.path.c_str());
  }
  for (const File& file : files_of(folder_ + "/" + kStaging)) {
    if (is_far(file.used, kAbandonedSeconds)) ::unlink(file.path.c_str());
  }
}

}  // namespace coda
