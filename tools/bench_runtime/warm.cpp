// Loading kernels that the cache has.
#include "runtime/device.h"
#include "runtime/kernel.h"
#include "tools/bench_runtime/bench.h"

namespace bench {

using namespace coda;

bool warm(const std::vector<std::string>& files) {
  must(Device::get(0));
  double most = 0;
  for (const std::string& file : files) {
    const auto image = must(load_artefact(file)).images.front();
    must(prepare(image, 0));  // makes what the cache lacks
    std::vector<double> times;
    for (int i = 0; i < 50; ++i) {
      std::unique_ptr<Kernel> kernel;
      times.push_back(milliseconds([&] { kernel = must(prepare(image, 0)); }));
    }
    const auto* plan = std::get_if<PlanImage>(&*image);
    const size_t kernels = plan ? plan->steps.size() : 1;
    const double median = quantile(times, 0.5);
    most = std::max(most, median / static_cast<double>(kernels));
    std::printf("%7.3f ms to load (90th percentile %.3f)   %s, %zu kernels\n", median, quantile(times, 0.9),
                signature(*image).name.c_str(), kernels);
  }
  std::printf("a kernel is loaded in at most %.2f ms of %.1f\n", most, kMostLoadMilliseconds);
  return most <= kMostLoadMilliseconds;
}

}  // namespace bench
