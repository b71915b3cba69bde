#include "runtime/process_mutex.h"

#include <pthread.h>

#include <atomic>
#include <new>

namespace coda {

namespace {

std::atomic<ProcessMutex*> all{nullptr};

}  // namespace

ProcessMutex::ProcessMutex() {
  static std::once_flag once;
  std::call_once(once, [] { pthread_atfork(nullptr, nullptr, &ProcessMutex::free_all); });
  next_ = all.load();
  while (!all.compare_exchange_weak(next_, this)) {
  }
}

void ProcessMutex::free_all() {
  for (ProcessMutex* mutex = all.load(); mutex; mutex = mutex->next_) new (&mutex->mutex_) std::mutex;
}

}  // namespace coda
