// The cache under faults: whatever happens to the disk or to other processes, callers get the right bytes.
#include "runtime/cache.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <fstream>
#include <thread>

#include "tests/runtime/cache_process.h"
#include "tests/runtime/scratch_folder.h"

using namespace coda;
using namespace coda::testing;

TEST_CASE("keys with equal concatenations differ") {
  CHECK(CacheKey().field("a", "bc").bytes() != CacheKey().field("ab", "c").bytes());
  CHECK(CacheKey().field("a", "b").field("c", "").bytes() != CacheKey().field("a", "").field("c", "b").bytes());
  CHECK(key_of("x").name() == key_of("x").name());
  CHECK(key_of("x").name() != key_of("y").name());
  // The same in every build, process and place.
  CHECK(CacheKey().field("kind", "golden").field("ptx", ".version 8.0").name() == "056e7faaada52e810724ef8929ed2fb6");
}

TEST_CASE("a value is made once, on disk or in memory, and failures are not kept") {
  const ScratchFolder folder;
  for (const bool on_disk : {true, false}) {
    Cache cache(on_disk ? std::optional(opened(folder / "cache")) : std::nullopt);
    int made = 0;
    auto make = [&]() -> Expected<Cache::Bytes> { return ++made, value_of(1); };
    CHECK(*cache.get_or_make(key_of("1"), make) == value_of(1));
    CHECK(*cache.get_or_make(key_of("1"), make) == value_of(1));
    CHECK(made == 1);
    auto fail = []() -> Expected<Cache::Bytes> { return Status(Code::Driver, "no"); };
    CHECK(cache.get_or_make(key_of("2"), fail).status().message() == "no");
    CHECK(*cache.get_or_make(key_of("2"), make) == value_of(1));
  }
  Cache later(opened(folder / "cache"));
  auto never = []() -> Expected<Cache::Bytes> { return Status(Code::Driver, "made again"); };
  CHECK(*later.get_or_make(key_of("1"), never) == value_of(1));
}

TEST_CASE("a damaged entry is deleted and made anew") {
  const ScratchFolder folder;
  const DiskCache disk = opened(folder / "cache");
  const CacheKey key = key_of("damaged");
  const Cache::Bytes value = value_of(3, 300);
  REQUIRE(disk.store(key, value).ok());
  const std::string file = entry_file(disk, key);
  const Cache::Bytes good = contents(file);
  auto expect_gone = [&](const Cache::Bytes& bytes) {
    overwrite(file, bytes);
    CHECK_FALSE(disk.find(key));
    CHECK_FALSE(std::filesystem::exists(file));
  };
  for (size_t length = 0; length < good.size(); length += 7) {
    expect_gone(Cache::Bytes(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(length)));
  }
  for (size_t i = 0; i < good.size(); ++i) {
    Cache::Bytes changed = good;
    changed[i] ^= 0x10;
    expect_gone(changed);
  }
  expect_gone({});
  expect_gone(Cache::Bytes(1000, 0));

  overwrite(file, {1, 2, 3});
  Cache cache(disk);
  CHECK(*cache.get_or_make(key, [&]() -> Expected<Cache::Bytes> { return value; }) == value);
  CHECK(contents(file) == good);
}

TEST_CASE("an entry of another key under the same name is not taken") {
  const ScratchFolder folder;
  const DiskCache disk = opened(folder / "cache");
  REQUIRE(disk.store(key_of("a"), value_of(1)).ok());
  std::filesystem::copy(entry_file(disk, key_of("a")), entry_file(disk, key_of("b")));
  CHECK_FALSE(disk.find(key_of("b")));
  CHECK(disk.find(key_of("a")) == value_of(1));
}

TEST_CASE("the folder is private, and one that others may write to is refused") {
  const ScratchFolder folder;
  const DiskCache disk = opened(folder / "deep/er/cache");
  struct stat info {};
  REQUIRE(stat(disk.folder().c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0700);
  REQUIRE(disk.store(key_of("a"), value_of(1)).ok());
  REQUIRE(stat(entry_file(disk, key_of("a")).c_str(), &info) == 0);
  CHECK((info.st_mode & 0077) == 0);
  chmod(disk.folder().c_str(), 0777);
  CHECK(DiskCache::open(disk.folder(), 1000).status().message().find("others may write") != std::string::npos);
  CHECK_FALSE(DiskCache::open("relative/path", 1000).ok());
  overwrite(folder / "file", {1});
  CHECK_FALSE(DiskCache::open(folder / "file", 1000).ok());
}

TEST_CASE("a full disk costs the cache, not the result") {
  const ScratchFolder folder;
  const std::string path = folder / "cache";
  CHECK(in_child([&] {
          signal(SIGXFSZ, SIG_IGN);
          const rlimit limit = {4096, 4096};  // writes beyond fail, as on a full disk
          setrlimit(RLIMIT_FSIZE, &limit);
          Cache cache(opened(path));
          int made = 0;
          auto make = [&]() -> Expected<Cache::Bytes> { return ++made, value_of(5); };
          const bool right = *cache.get_or_make(key_of("5"), make) == value_of(5) &&
                             *cache.get_or_make(key_of("5"), make) == value_of(5);
          return right && made == 1 ? 0 : 1;  // the second time from memory
        }) == 0);
  CHECK(files_in(path + "/entries") == 0);
  CHECK(files_in(path + "/staging") == 0);
}

TEST_CASE("a folder that can't be written still serves what it has") {
  const ScratchFolder folder;
  const std::string path = folder / "cache";
  REQUIRE(opened(path).store(key_of("old"), value_of(1)).ok());
  if (geteuid() == 0) {
    // Permissions don't bind the superuser; a plain file in place of the staging folder stops writing for anybody.
    std::filesystem::remove_all(path + "/staging");
    std::filesystem::remove_all(path + "/locks");
    overwrite(path + "/staging", {});
    overwrite(path + "/locks", {});
  } else {
    for (const char* part : {"/staging", "/locks", "/entries", ""}) chmod((path + part).c_str(), 0500);
  }
  Cache cache(opened(path));
  auto make = []() -> Expected<Cache::Bytes> { return value_of(2); };
  CHECK(*cache.get_or_make(key_of("old"), make) == value_of(1));
  CHECK(*cache.get_or_make(key_of("new"), make) == value_of(2));
  CHECK(*cache.get_or_make(key_of("new"), make) == value_of(2));
  for (const char* part : {"", "/staging", "/locks", "/entries"}) chmod((path + part).c_str(), 0700);
}

TEST_CASE("a writer killed at any moment leaves no bad entry") {
  const ScratchFolder folder;
  const DiskCache disk = opened(folder / "cache");
  int found = 0;
  for (int round = 0; round < 60; ++round) {
    int stored[2];
    REQUIRE(pipe(stored) == 0);
    const pid_t child = fork();
    if (child == 0) {
      for (int i = 0;; ++i) {
        (void)disk.store(key_of(std::to_string(i % 4)), value_of(i % 4, 400000));
        if (i == 0 && write(stored[1], "1", 1) != 1) _exit(1);
      }
    }
    // Killed in the first store, or, on a machine of any speed, in one of the next.
    char byte;
    if (round % 2) REQUIRE(read(stored[0], &byte, 1) == 1);
    usleep(static_cast<useconds_t>(137 * round));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    close(stored[0]);
    close(stored[1]);
    for (int i = 0; i < 4; ++i) {
      const CacheKey key = key_of(std::to_string(i));
      const bool present = std::filesystem::exists(entry_file(disk, key));
      const auto value = disk.find(key);
      CHECK(value.has_value() == present);  // whatever is there is good
      if (value) CHECK(*value == value_of(i, 400000));
      found += value.has_value();
    }
  }
  CHECK(found > 0);
  // What the dead left behind goes when it is old.
  overwrite(disk.folder() + "/staging/abandoned", {1});
  const timespec old[2] = {{1000, 0}, {1000, 0}};
  utimensat(AT_FDCWD, (disk.folder() + "/staging/abandoned").c_str(), old, 0);
  disk.trim(int64_t{1} << 30);
  CHECK_FALSE(std::filesystem::exists(disk.folder() + "/staging/abandoned"));
}

TEST_CASE("threads that race for one key make it once") {
  const ScratchFolder folder;
  for (const bool on_disk : {true, false}) {
    Cache cache(on_disk ? std::optional(opened(folder / "cache")) : std::nullopt);
    std::atomic<int> made{0}, wrong{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 8; ++t) {
      threads.emplace_back([&] {
        for (int n = 0; n < 10; ++n) {
          auto value = cache.get_or_make(key_of(std::to_string(n)), [&]() -> Expected<Cache::Bytes> {
            ++made;
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
            return value_of(n);
          });
          wrong += !value.ok() || *value != value_of(n);
        }
      });
    }
    for (auto& thread : threads) thread.join();
    CHECK(wrong == 0);
    CHECK(made == 10);
  }
}

TEST_CASE("waiting for another process ends") {
  const ScratchFolder folder;
  const DiskCache disk = opened(folder / "cache");
  const CacheKey key = key_of("held");
  const FileHandle held = disk.lock(key, std::chrono::milliseconds(0));
  REQUIRE(held);
  CHECK_FALSE(disk.lock(key, std::chrono::milliseconds(20)));
  Cache cache(disk, std::chrono::milliseconds(50));
  const auto start = std::chrono::steady_clock::now();
  CHECK(*cache.get_or_make(key, []() -> Expected<Cache::Bytes> { return value_of(9); }) == value_of(9));
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(20));
}

TEST_CASE("the cache stays within its size, dropping what was used longest ago") {
  const ScratchFolder folder;
  const DiskCache disk = opened(folder / "cache", 350000);
  for (int n = 0; n < 3; ++n) {
    REQUIRE(disk.store(key_of(std::to_string(n)), value_of(n)).ok());
    const timespec age[2] = {{1000 + n, 0}, {1000 + n, 0}};
    utimensat(AT_FDCWD, entry_file(disk, key_of(std::to_string(n))).c_str(), age, 0);
  }
  CHECK(disk.find(key_of("0")));  // use makes it young
  REQUIRE(disk.store(key_of("3"), value_of(3)).ok());
  CHECK(disk.usage().bytes <= 350000);
  CHECK(disk.usage().entries == 3);
  CHECK(disk.find(key_of("0")));
  CHECK_FALSE(disk.find(key_of("1")));
  CHECK(disk.find(key_of("3")));
  CHECK_FALSE(disk.store(key_of("huge"), value_of(4, 400000)).ok());
  disk.trim(0);
  CHECK(disk.usage().entries == 0);
}

TEST_CASE("the folder is the first usable one, and modes are obeyed") {
  const ScratchFolder folder;
  auto chosen = [&](const std::string& own, const std::string& xdg, const std::string& home, const std::string& temp) {
    const Environment a("CODA_CACHE_DIR", own), b("XDG_CACHE_HOME", xdg), c("HOME", home), d("TMPDIR", temp);
    auto disk = open_default_disk_cache();
    return disk ? disk->folder() : "none: " + disk.status().message();
  };
  overwrite(folder / "file", {1});
  const std::string bad = folder / "file", base = folder.path();
  CHECK(chosen(base + "/own", base + "/xdg", base, base) == base + "/own");
  CHECK(chosen(bad, base + "/xdg", base, base) == base + "/xdg/coda");
  CHECK(chosen("", "", base + "/home", base) == base + "/home/.cache/coda");
  CHECK(chosen("", bad, bad, base) == base + "/coda-cache-" + std::to_string(geteuid()));
  CHECK(chosen("", bad, bad, bad).substr(0, 5) == "none:");

  auto in_mode = [&](const std::string& mode) {
    return in_child([&] {
      const Environment a("CODA_CACHE_DIR", base + "/own"), b("CODA_CACHE", mode);
      const Cache* cache = Cache::of_process();
      return !cache ? 0 : !cache->disk() ? 1 : 2;
    });
  };
  CHECK(in_child([&] {  // nowhere to put it: in memory, and no error
          const Environment a("CODA_CACHE_DIR", bad), b("XDG_CACHE_HOME", bad), c("HOME", bad), d("TMPDIR", bad),
              e("CODA_CACHE", "on");
          Cache* cache = Cache::of_process();
          int made = 0;
          const auto make = [&] { return ++made, Expected(value_of(1)); };
          for (int i = 0; i < 2; ++i) {
            if (!cache || cache->disk() || *cache->get_or_make(key_of("k"), make) != value_of(1)) return 1;
          }
          return made == 1 ? 0 : 2;
        }) == 0);
  CHECK(in_mode("off") == 0);
  CHECK(in_mode("memory") == 1);
  CHECK(in_mode("on") == 2);
}

TEST_CASE("a forked child has a cache of its own") {
  CHECK(in_child([] {
          const Environment mode("CODA_CACHE", "memory");
          Cache* const ours = Cache::of_process();
          if (!ours || Cache::of_process() != ours) return 1;
          return in_child([&] { return !Cache::of_process() || Cache::of_process() == ours ? 2 : 0; });
        }) == 0);
}

TEST_CASE("entries are listed with their keys, and the bad ones are told") {
  const ScratchFolder scratch;
  const DiskCache cache = opened(scratch.path());
  REQUIRE(cache.store(key_of("first"), value_of(1)).ok());
  REQUIRE(cache.store(key_of("second"), value_of(2)).ok());
  const std::string entries = scratch.path() + "/entries/";
  std::ofstream(entries + "short") << "x";
  // A good entry under the name of another key.
  std::filesystem::copy(entries + key_of("first").name(), entries + key_of("third").name());
  int good = 0, bad = 0;
  for (const DiskCache::Listed& entry : cache.list()) {
    ++(entry.good ? good : bad);
    if (!entry.good) continue;
    CHECK(entry.file == CacheKey::name_of(entry.key));
    CHECK(CacheKey::find(entry.key, "kind") == "test");
    CHECK_FALSE(CacheKey::find(entry.key, "ptx").empty());
    CHECK(CacheKey::find(entry.key, "nothing").empty());
  }
  CHECK(good == 2);
  CHECK(bad == 2);
  for (const std::string& cut : {std::string("\1"), key_of("first").bytes().substr(0, 11), std::string(9, '\xff')}) {
    CHECK(CacheKey::find(cut, "ptx").empty());
  }
}

TEST_CASE("nothing waits for what is no file in the place of an entry") {
  const ScratchFolder scratch;
  const DiskCache cache = opened(scratch.path());
  const std::string entry = scratch.path() + "/entries/" + key_of("a").name();
  const auto check = [&] {
    CHECK_FALSE(cache.find(key_of("a")));
    CHECK(cache.list().size() <= 1);
    CHECK(Cache(opened(scratch.path()))
              .get_or_make(key_of("a"), []() -> Expected<Cache::Bytes> { return value_of(3); })
              .ok());
    std::filesystem::remove_all(entry);
  };
  REQUIRE(::mkfifo(entry.c_str(), 0600) == 0);  // to open it would wait for a writer
  check();
  std::filesystem::create_symlink("/dev/zero", entry);
  check();
  std::filesystem::create_directory(entry);
  check();
}
