// Threads that wait for work, and scratch memory that stays with them.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace coda {

/// Memory that only grows, aligned for vectors; its contents do not survive growth.
class Scratch {
 public:
  /// Null if there is no memory.
  void* get(size_t bytes);

 private:
  struct Free {
    void operator()(void* memory) const;
  };
  std::unique_ptr<void, Free> memory_;
  size_t size_ = 0;
};

class HostPool {
 public:
  /// `threads` counts the caller; 0: one for each processor this process may use.
  explicit HostPool(int threads = 0);
  ~HostPool();
  HostPool(const HostPool&) = delete;
  HostPool& operator=(const HostPool&) = delete;

  /// The pool that launches share unless they bring their own.
  static HostPool& shared();

  int threads() const { return static_cast<int>(workers_.size()) + 1; }
  /// Calls work(index, worker) for each index below `count`, in any order; worker < threads(). Returns when all are
  /// done. Only while `lock()` is held.
  void run(int64_t count, const std::function<void(int64_t, int)>& work);
  std::unique_lock<std::mutex> lock() { return std::unique_lock(in_use_); }

  Scratch& scratch(int worker) { return scratch_[static_cast<size_t>(worker)]; }
  Scratch& shared_scratch() { return scratch_.back(); }

 private:
  void serve(int worker);
  void drain(int worker);

  std::mutex in_use_;
  std::vector<std::thread> workers_;
  std::vector<Scratch> scratch_;  // one a thread, and one for all

  std::mutex mutex_;
  std::condition_variable wake_, done_;
  const std::function<void(int64_t, int)>* work_ = nullptr;
  int64_t count_ = 0;
  std::atomic<int64_t> next_{0};
  uint64_t round_ = 0;
  int busy_ = 0;
  bool stop_ = false;
  int process_;  // a fork takes no threads along
};

}  // namespace coda
