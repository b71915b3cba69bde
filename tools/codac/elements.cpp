#include "tools/codac/elements.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <thread>
#include <vector>

namespace coda {

std::string describe(DType dtype, const Sizes& shape) {
  return std::string(info(dtype).name) + (shape.empty() ? "" : to_text(shape));
}

Expected<HostTensor> convert(const HostTensor& source, DType dtype, int64_t& inexact) {
  inexact = 0;
  auto result = HostTensor::create(dtype, source.view().shape);
  if (!result) return result.status();
  std::atomic<int64_t> rounded{0};
  parallel_parts(count(source), [&](int64_t begin, int64_t end) {
    int64_t mine = 0;
    for (int64_t i = begin; i < end; ++i) {
      double value = get(source, i);
      set(*result, i, value);
      double back = get(*result, i);
      mine += !(back == value || (std::isnan(back) && std::isnan(value)));
    }
    rounded += mine;
  });
  inexact = rounded;
  return result;
}

void for_each_part(int64_t count, void (*body)(void*, int64_t, int64_t), void* context) {
  constexpr int64_t kGranule = 64, kSmallest = 1 << 14;
  int64_t workers = std::clamp<int64_t>(std::thread::hardware_concurrency(), 1, 64);
  int64_t part = std::max((count / workers / kGranule + 1) * kGranule, kSmallest);
  std::vector<std::thread> threads;
  for (int64_t begin = part; begin < count; begin += part) {
    threads.emplace_back(body, context, begin, std::min(begin + part, count));
  }
  body(context, 0, std::min(part, count));
  for (auto& thread : threads) thread.join();
}

}  // namespace coda
