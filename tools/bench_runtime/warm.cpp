// Loading kernels that the cache has.
#include "runtime/device.h"
#include "runtime/kernel.h"
#include "tools/bench_runtime/bench.h"

namespace bench {

using namespace coda;

void warm(const std::vector<std::string>& files) {
  must(Device::get(0));
  std::vector<double> medians;
  for (const std::string& file : files) {
    const auto image = must(load_artefact(file)).images.front();
    must(prepare(image, 0));  // makes what the cache lacks
    std::vector<double> times;
    for (int i = 0; i < 50; ++i) {
      std::unique_ptr<Kernel> kernel;
      times.push_back(milliseconds([&] { kernel = must(prepare(image, 0)); }));
    }
    const auto* plan = std::get_if<PlanImage>(&*image);
    medians.push_back(quantile(times, 0.5));
    std::printf("%7.3f ms to load (90th percentile %.3f)   %s, %zu kernels\n", medians.back(), quantile(times, 0.9),
                signature(*image).name.c_str(), plan ? plan->steps.size() : 1);
  }
}

}  // namespace bench
