#include "compiler/reference/workers.h"

#include <algorithm>

namespace coda {

Workers::Workers(int threads) {
  const int wanted = threads > 0 ? threads : static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  for (int i = 1; i < wanted; ++i) threads_.emplace_back([this] { work(); });
}

Workers::~Workers() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  start_.notify_all();
  for (auto& thread : threads_) thread.join();
}

void Workers::for_ranges(int64_t count, int64_t grain, const std::function<void(int64_t, int64_t)>& body) {
  grain = std::max<int64_t>(grain, 1);
  if (threads_.empty() || count <= grain) {
    for (int64_t begin = 0; begin < count; begin += grain) body(begin, std::min(begin + grain, count));
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    body_ = &body;
    count_ = count;
    grain_ = grain;
    next_ = 0;
    active_ = static_cast<int>(threads_.size());
    ++round_;
  }
  start_.notify_all();
  take_ranges();
  std::unique_lock lock(mutex_);
  done_.wait(lock, [this] { return active_ == 0; });
}

void Workers::work() {
  uint64_t seen = 0;
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      start_.wait(lock, [&] { return stop_ || round_ != seen; });
      if (stop_) return;
      seen = round_;
    }
    take_ranges();
    const std::lock_guard lock(mutex_);
    if (--active_ == 0) done_.notify_one();
  }
}

void Workers::take_ranges() {
  for (;;) {
    int64_t begin = 0, end = 0;
    {
      const std::lock_guard lock(mutex_);
      if (next_ >= count_) return;
      begin = next_;
      end = next_ = std::min(next_ + grain_, count_);
    }
    (*body_)(begin, end);
  }
}

}  // namespace coda
