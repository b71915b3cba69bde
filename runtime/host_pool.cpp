#include "runtime/host_pool.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "runtime/process_mutex.h"

namespace coda {

namespace {

constexpr size_t kAlignment = 4096;

int processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace

void Scratch::Free::operator()(void* memory) const { std::free(memory); }

void* Scratch::get(size_t bytes) {
  if (bytes > size_ || !memory_) {
    const size_t wanted = (std::max<size_t>(bytes, 1) + kAlignment - 1) / kAlignment * kAlignment;
    memory_.reset();
    memory_.reset(std::aligned_alloc(kAlignment, wanted));
    size_ = memory_ ? wanted : 0;
  }
  return memory_.get();
}

HostPool::HostPool(int threads) : process_(getpid()) {
  if (threads <= 0) threads = processors();
  scratch_.resize(static_cast<size_t>(threads) + 1);
  for (int i = 1; i < threads; ++i) workers_.emplace_back([this, i] { serve(i); });
}

HostPool::~HostPool() {
  {
    const std::lock_guard guard(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

HostPool& HostPool::shared() {
  // Never destroyed: a launch may still run in another thread while the process ends. Made anew after a fork, which
  // takes no threads along, nor those that held the lock.
  static std::atomic<HostPool*> pool{nullptr};
  static auto* making = new ProcessMutex;
  const auto usable = [] {
    HostPool* made = pool.load(std::memory_order_acquire);
    return made && made->process_ == getpid() ? made : nullptr;
  };
  if (HostPool* made = usable()) return *made;
  const std::lock_guard guard(*making);
  if (HostPool* made = usable()) return *made;
  auto* made = new HostPool();
  pool.store(made, std::memory_order_release);
  return *made;
}

void HostPool::drain(int worker) {
  for (int64_t i = next_.fetch_add(1); i < count_; i = next_.fetch_add(1)) (*work_)(i, worker);
}

void HostPool::run(int64_t count, const std::function<void(int64_t, int)>& work) {
  if (count <= 0) return;
  if (workers_.empty() || count == 1 || getpid() != process_) {
    for (int64_t i = 0; i < count; ++i) work(i, 0);
    return;
  }
  {
    const std::lock_guard guard(mutex_);
    work_ = &work;
    count_ = count;
    next_ = 0;
    busy_ = static_cast<int>(workers_.size());
    ++round_;
  }
  wake_.notify_all();
  drain(0);
  std::unique_lock guard(mutex_);
  done_.wait(guard, [this] { return busy_ == 0; });
}

void HostPool::serve(int worker) {
  uint64_t seen = 0;
  while (true) {
    {
      std::unique_lock guard(mutex_);
      wake_.wait(guard, [&] { return stop_ || round_ != seen; });
      if (stop_) return;
      seen = round_;
    }
    drain(worker);
    const std::lock_guard guard(mutex_);
    if (--busy_ == 0) done_.notify_one();
  }
}

}  // namespace coda
