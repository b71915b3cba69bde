// Processes that die, disks that fail and clocks that go back while the cache is in use.
#include <fcntl.h>
#include <sys/stat.h>

#include <atomic>
#include <csignal>
#include <thread>

#include "tests/runtime/cache_process.h"
#include "tests/runtime/file_faults.h"
#include "tests/runtime/scratch_folder.h"

using namespace coda;
using namespace coda::testing;

namespace {

constexpr int kMostCalls = 40;

Expected<Cache::Bytes> never() { return Status(Code::Driver, "made again"); }

void set_age(const std::string& file, time_t seconds) {
  const timespec times[2] = {{seconds, 0}, {seconds, 0}};
  REQUIRE(utimensat(AT_FDCWD, file.c_str(), times, 0) == 0);
}

time_t age_of(const std::string& file) {
  struct stat info {};
  REQUIRE(stat(file.c_str(), &info) == 0);
  return info.st_mtim.tv_sec;
}

}  // namespace

TEST_CASE("a process killed at any step of getting and publishing leaves nothing bad, and nobody waits for it") {
  int steps = 0;
  for (const auto fault : {FileFault::Kill, FileFault::KillHalfway}) {
    for (int call = 0, exit = -SIGKILL; exit == -SIGKILL; ++call) {
      REQUIRE(call < kMostCalls);
      const ScratchFolder folder;
      const DiskCache disk = opened(folder / "cache");
      REQUIRE(disk.store(key_of("old"), value_of(1)).ok());
      exit = in_child([&] {
        Cache cache(disk);
        arm_file_fault(fault, call);
        const bool right = *cache.get_or_make(key_of("old"), never) == value_of(1) &&
                           *cache.get_or_make(key_of("new"), [] { return Expected(value_of(2)); }) == value_of(2);
        return right ? 0 : 1;
      });
      steps += exit == -SIGKILL;
      const bool published = std::filesystem::exists(entry_file(disk, key_of("new")));
      CHECK(disk.find(key_of("old")) == value_of(1));
      CHECK(disk.find(key_of("new")).has_value() == published);
      const auto start = std::chrono::steady_clock::now();
      Cache cache(disk);
      const auto make = [&] { return published ? never() : Expected(value_of(2)); };
      CHECK(*cache.get_or_make(key_of("new"), make) == value_of(2));
      CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(10));  // the lock went with its holder
      CHECK(disk.find(key_of("new")) == value_of(2));
      if (exit != -SIGKILL) CHECK(exit == 0);
    }
  }
  CHECK(steps >= 12);  // open, look, lock, look again, stage, write, sync, rename: each twice
}

TEST_CASE("a disk that fails at any step costs the cache, not the result") {
  for (int call = 0, calls = kMostCalls; call < calls; ++call) {
    const ScratchFolder folder;
    const DiskCache disk = opened(folder / "cache");
    int made = 0;
    Cache cache(disk);
    arm_file_fault(FileFault::Fail, call);
    for (int again = 0; again < 2; ++again) {
      const auto value = cache.get_or_make(key_of("new"), [&] { return ++made, Expected(value_of(2)); });
      REQUIRE(value.ok());
      CHECK(*value == value_of(2));
    }
    calls = file_calls();
    arm_file_fault(FileFault::None, 0);
    CHECK(made <= 2);
    CHECK(files_in(disk.folder() + "/staging") == 0);
    Cache later(disk);
    CHECK(*later.get_or_make(key_of("new"), [] { return Expected(value_of(2)); }) == value_of(2));
  }
}

TEST_CASE("whoever made a value has it, whether or not what he published is to be seen, and by whom") {
  const ScratchFolder folder;
  const DiskCache disk = opened(folder / "cache");
  const auto makes = [&](int n, auto meanwhile) {
    Cache cache(disk);
    const auto value = cache.get_or_make(key_of("new"), [&] {
      meanwhile();
      return Expected(value_of(n));
    });
    INFO(value.status().message());
    return value.ok() && *value == value_of(n);
  };
  const std::string entry = entry_file(disk, key_of("new"));
  // Published, and gone.
  arm_file_fault(FileFault::Lose, 0);
  CHECK(makes(1, [] {}));
  CHECK_FALSE(std::filesystem::exists(entry));
  CHECK(makes(2, [] {}));
  arm_file_fault(FileFault::None, 0);
  // Another one was faster, without the lock, and what he published can't be read or replaced.
  CHECK(makes(3, [&] {
    std::filesystem::create_directory(entry);
    overwrite(entry + "/in it", {1});
  }));
  std::filesystem::remove_all(entry);
  CHECK(makes(4, [&] { REQUIRE(disk.store(key_of("new"), value_of(7)).ok()); }));
  std::filesystem::remove(entry);
  CHECK(makes(5, [&] { overwrite(entry, {1, 2, 3}); }));
  std::filesystem::remove(entry);
  // The folders vanish meanwhile.
  for (const char* part : {"/staging", "/locks", "/entries", ""}) {
    std::filesystem::remove(entry);
    CHECK(makes(6, [&] { std::filesystem::remove_all(disk.folder() + part); }));
    const bool kept = std::filesystem::exists(entry);
    CHECK(makes(7, [] {}) != kept);
    REQUIRE(DiskCache::open(disk.folder(), int64_t{1} << 30).ok());
  }
}

TEST_CASE("a lock goes with the process that held it") {
  const ScratchFolder folder;
  const DiskCache disk = opened(folder / "cache");
  int ready[2];
  REQUIRE(pipe(ready) == 0);
  const pid_t holder = start_child([&] {
    const FileHandle held = disk.lock(key_of("k"), std::chrono::seconds(1));
    if (!held || write(ready[1], "x", 1) != 1) return 1;
    pause();
    return 0;
  });
  char byte = 0;
  REQUIRE(read(ready[0], &byte, 1) == 1);
  CHECK_FALSE(disk.lock(key_of("k"), std::chrono::milliseconds(30)));
  kill(holder, SIGKILL);
  CHECK(wait_for(holder) == -SIGKILL);
  CHECK(disk.lock(key_of("k"), std::chrono::seconds(5)));
  close(ready[0]);
  close(ready[1]);
}

TEST_CASE("32 processes of 8 threads race for the same keys") {
  constexpr int kProcesses = 32, kThreads = 8, kKeys = 4;
  const ScratchFolder folder;
  const std::string path = folder / "cache", log = folder / "made";
  std::vector<pid_t> children;
  for (int p = 0; p < kProcesses; ++p) {
    children.push_back(start_child([&] {
      Cache cache(opened(path), std::chrono::seconds(60));
      std::atomic<int> wrong{0}, made[kKeys] = {};
      std::vector<std::thread> threads;
      for (int t = 0; t < kThreads; ++t) {
        threads.emplace_back([&, t] {
          for (int i = 0; i < kKeys; ++i) {
            const int n = (i + t) % kKeys;
            const auto value = cache.get_or_make(key_of(std::to_string(n)), [&] {
              ++made[n];
              const int file = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
              wrong += write(file, "x", 1) != 1;
              close(file);
              usleep(3000);
              return Expected(value_of(n));
            });
            wrong += !value.ok() || *value != value_of(n);
          }
        });
      }
      for (auto& thread : threads) thread.join();
      for (const auto& count : made) wrong += count > 1;
      return wrong == 0 ? 0 : 1;
    }));
  }
  for (const pid_t child : children) CHECK(wait_for(child) == 0);
  CHECK(contents(log).size() == kKeys);  // once in all, since locks work here
}

TEST_CASE("a clock that goes back changes neither results nor what is dropped") {
  const ScratchFolder folder;
  const DiskCache disk = opened(folder / "cache", 350000);
  const time_t now = time(nullptr), future = now + 400 * 24 * 3600;
  for (int n = 0; n < 3; ++n) {
    REQUIRE(disk.store(key_of(std::to_string(n)), value_of(n)).ok());
    set_age(entry_file(disk, key_of(std::to_string(n))), n == 0 ? future : now - 7200 + n);
  }
  overwrite(disk.folder() + "/staging/abandoned", {1});
  set_age(disk.folder() + "/staging/abandoned", future);
  CHECK(disk.find(key_of("0")) == value_of(0));
  CHECK(age_of(entry_file(disk, key_of("0"))) < future);  // used now, whenever it was made
  CHECK(disk.find(key_of("1")) == value_of(1));
  REQUIRE(disk.store(key_of("3"), value_of(3)).ok());
  CHECK_FALSE(disk.find(key_of("2")));  // used longest ago
  CHECK(disk.find(key_of("0")) == value_of(0));
  CHECK(disk.find(key_of("3")) == value_of(3));
  CHECK_FALSE(std::filesystem::exists(disk.folder() + "/staging/abandoned"));
}
