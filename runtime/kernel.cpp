#include "runtime/kernel.h"

#include "runtime/cuda_kernel.h"
#include "runtime/host.h"

namespace coda {

Expected<std::unique_ptr<Kernel>> prepare(std::shared_ptr<const KernelImage> image, int device, const Bindings& given) {
  const bool for_host = image->target == "host";
  if (for_host != (device == kHostDevice)) {
    return Status(Code::Unsupported, "kernel '" + image->name + "' is compiled for " + image->target + ", not for " +
                                         (for_host ? "CUDA device " + std::to_string(device) : "the host"));
  }
  auto plan = LaunchPlan::create(image, given);
  if (!plan) return plan.status();
  if (for_host) return prepare_host(std::move(*plan));
  auto opened = Device::get(device);
  if (!opened) return opened.status();
  return prepare_cuda(std::move(*plan), **opened);
}

}  // namespace coda
