// Threads that share loops of the reference evaluator.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace coda {

class Workers {
 public:
  explicit Workers(int threads);  ///< 0: one a core
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  /// Calls body(begin, end) on disjoint ranges that cover [0, count), each at least `grain` long but for the last.
  /// Ranges depend on nothing but count and grain, so results don't depend on the number of threads.
  void for_ranges(int64_t count, int64_t grain, const std::function<void(int64_t, int64_t)>& body);

 private:
  void work();
  void take_ranges();

  std::mutex mutex_;
  std::condition_variable start_, done_;
  const std::function<void(int64_t, int64_t)>* body_ = nullptr;
  int64_t count_ = 0, grain_ = 1, next_ = 0;
  int active_ = 0;
  uint64_t round_ = 0;
  bool stop_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace coda
