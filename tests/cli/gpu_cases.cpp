#include "tests/cli/gpu_cases.h"

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <set>
#include <thread>

#include "tests/cli/run_block.h"

namespace coda::testing {
namespace {

struct Tally {
  int right = 0, refused = 0, empty = 0, begun = 0;  // empty: the reference is 0 everywhere, say
  std::string wrong, refusals;
  std::mutex lock;
};

void run(const GpuCase& one, const std::string& target, Tally& tally) {
  BlockOptions options{.seed = 1,
                       .slack = one.slack,
                       .routine = one.routine,
                       .inputs = one.inputs,
                       .target = target,
                       .apart = one.apart,
                       .bound = one.bound};
  if (target != "host") {
    options.schedule = one.schedule;
    options.overrides = one.overrides;
  }
  std::vector<BlockRun> runs = run_at_sizes(one.text, one.sizes, options);
  if (!runs[0].compiled && !options.schedule.empty()) {  // its tile doesn't fit
    options.schedule.clear();
    runs = run_at_sizes(one.text, one.sizes, options);
  }
  const std::lock_guard guard(tally.lock);
  for (size_t i = 0; i < runs.size(); ++i) {
    const BlockRun& run = runs[i];
    const bool is_empty = run.message.find("proves nothing") != std::string::npos;
    // A block's plan may ask of dimensions not to be empty, and says so at the launch.
    const bool has_empty =
        std::any_of(one.sizes[i].begin(), one.sizes[i].end(), [](const auto& s) { return s.second == 0; });
    const bool is_refused = !run.compiled || (has_empty && run.message.find(" requires 1 <= ") != std::string::npos);
    ++tally.begun;
    tally.refused += is_refused;
    tally.right += !is_refused && run.right;
    tally.empty += !is_refused && !run.right && is_empty;
    if (!run.compiled && i == 0)
      tally.refusals += one.name + ": " + run.message.substr(0, run.message.find('\n')) + "\n";
    if (!is_refused && !run.right && !is_empty) {
      tally.wrong += one.name + " (" + one.schedule + ")";
      for (const auto& [name, value] : one.overrides) tally.wrong += " " + name + "=" + std::to_string(int(value));
      for (const auto& [name, value] : one.sizes[i]) tally.wrong += " " + name + "=" + std::to_string(value);
      tally.wrong += "\n" + one.text + run.message + "\n";
    }
  }
}

/// Says which cases are still running some time after no more should be begun.
class Watch {
 public:
  explicit Watch(std::chrono::steady_clock::time_point end)
      : thread_([this, end] {
          std::unique_lock lock(lock_);
          if (done_.wait_until(lock, end + std::chrono::seconds(30), [&] { return over_; })) return;
          for (const GpuCase* one : running_)
            std::fprintf(stderr, "still running: %s\n%s\n", one->name.c_str(), one->text.c_str());
        }) {}
  ~Watch() {
    {
      const std::lock_guard lock(lock_);
      over_ = true;
    }
    done_.notify_all();
    thread_.join();
  }
  void begin(const GpuCase& one) {
    const std::lock_guard lock(lock_);
    running_.insert(&one);
  }
  void end(const GpuCase& one) {
    const std::lock_guard lock(lock_);
    running_.erase(&one);
  }

 private:
  std::mutex lock_;
  std::condition_variable done_;
  bool over_ = false;
  std::set<const GpuCase*> running_;
  std::thread thread_;  // last: it uses the others
};

std::vector<GpuCase> chosen(const std::vector<GpuCase>& cases) {
  const char *only = std::getenv("CODA_GPU_ONLY"), *part = std::getenv("CODA_GPU_PART");
  unsigned mine = 0, parts = 1;
  if (part) REQUIRE(std::sscanf(part, "%u/%u", &mine, &parts) == 2);
  std::vector<GpuCase> result;
  for (size_t i = 0; i < cases.size(); ++i) {
    if ((!only || cases[i].name.find(only) != std::string::npos) && i % parts == mine % parts)
      result.push_back(cases[i]);
  }
  return result;
}

}  // namespace

void run_gpu_cases(const std::vector<GpuCase>& all) {
  const char* named = std::getenv("CODA_GPU_TARGET");
  const char* limit = std::getenv("CODA_GPU_SECONDS");
  const std::string target = named ? named : "sm_90a";
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(limit ? std::atoi(limit) : 3600);
  const std::vector<GpuCase> cases = chosen(all);
  std::atomic<size_t> next{0};
  Tally tally;
  Watch watch(end);
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < std::max(1U, std::thread::hardware_concurrency()); ++i) {
    threads.emplace_back([&] {
      while (std::chrono::steady_clock::now() < end) {
        const size_t mine = next++;
        if (mine >= cases.size()) return;
        watch.begin(cases[mine]);
        run(cases[mine], target, tally);
        watch.end(cases[mine]);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::printf("%zu programs, %d runs: %d right, %d refused, %d of nothing\n%s%s", std::min(cases.size(), next.load()),
              tally.begun, tally.right, tally.refused, tally.empty, tally.refusals.c_str(), tally.wrong.c_str());
  CHECK(tally.right > 0);
  CHECK(tally.right + tally.refused + tally.empty == tally.begun);
}

}  // namespace coda::testing
