// A mutex for what a process has once. In the child of a fork it is free, whichever thread of the parent held it: that
// thread isn't there to give it back.
#pragma once

#include <mutex>

namespace coda {

/// Never destroyed, as what it guards.
class ProcessMutex {
 public:
  ProcessMutex();
  ~ProcessMutex() = delete;
  ProcessMutex(const ProcessMutex&) = delete;
  ProcessMutex& operator=(const ProcessMutex&) = delete;

  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  static void free_all();

  std::mutex mutex_;
  ProcessMutex* next_ = nullptr;
};

}  // namespace coda
