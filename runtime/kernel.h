// A kernel made ready for launches on one device, and the way from an image to one.
#pragma once

#include <memory>
#include <span>

#include "runtime/bind.h"

namespace coda {

/// Immutable after preparation; launches may come from several threads at once. Results are ready when the stream is.
class Kernel {
 public:
  explicit Kernel(LaunchPlan plan, int device) : plan_(std::move(plan)), device_(device) {}
  virtual ~Kernel() = default;
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  const LaunchPlan& plan() const { return plan_; }
  const KernelImage& image() const { return plan_.image(); }
  int device() const { return device_; }

  /// Checks the arguments (in the order of image().params) and enqueues the kernel on `stream`, a CUstream; the host
  /// ignores it and has finished on return. Nothing is enqueued if the result is not Ok.
  virtual Status launch(std::span<const Argument> arguments, void* stream) = 0;

 private:
  LaunchPlan plan_;
  int device_;
};

/// Loads the code for `device` (kHostDevice for images of target "host"). `given` binds symbols that no shape
/// determines. Everything slow, and everything that allocates apart from workspaces, happens here.
Expected<std::unique_ptr<Kernel>> prepare(std::shared_ptr<const KernelImage> image, int device,
                                          const Bindings& given = {});

}  // namespace coda
