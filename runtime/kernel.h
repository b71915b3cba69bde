// Compiled code made ready for launches on one device, be it one kernel or the plan of a block, and the way from an
// image to it.
#pragma once

#include <memory>
#include <span>

#include "runtime/bind.h"
#include "runtime/format/artefact.h"

namespace coda {

/// Memory for what a launch keeps between its kernels; null: the kernel's own.
struct Workspace {
  void* data = nullptr;  ///< a multiple of kWorkspaceAlignment
  size_t bytes = 0;
};
inline constexpr size_t kWorkspaceAlignment = 256;

/// Immutable after preparation; launches may come from several threads at once. Results are ready when the stream is.
class Kernel {
 public:
  explicit Kernel(int device) : device_(device) {}
  virtual ~Kernel() = default;
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;

  virtual const Signature& signature() const = 0;
  std::optional<int> param_index(std::string_view name) const;
  int device() const { return device_; }

  /// Checks the arguments (in the order of signature().params) and enqueues all kernels on `stream`, a CUstream; the
  /// host ignores it and has finished on return. Nothing is enqueued where an argument does not fit.
  Status launch(std::span<const Argument> arguments, void* stream) { return launch(arguments, stream, Workspace()); }
  /// With memory of the caller's, of at least workspace_bytes(), which no other work may use until the launch is done.
  virtual Status launch(std::span<const Argument> arguments, void* stream, Workspace workspace) = 0;

  /// What a launch with these arguments keeps between its kernels; 0 for a single kernel. A kernel's own counters and
  /// partial sums are no part of it.
  virtual Expected<int64_t> workspace_bytes(std::span<const Argument>) const { return int64_t{0}; }

  /// Computes now what a plan makes of `const` parameters alone, and waits for it. The first launch with other weights
  /// (addresses, shapes or strides) does so by itself, except while it is captured. Outputs are not touched.
  virtual Status fold(std::span<const Argument>, void* /*stream*/) { return {}; }
  /// Weights have new values where they are: what was made of them is made again by the next fold() or launch. No
  /// launch may be in flight.
  virtual void weights_changed() {}

 private:
  int device_;
};

/// What an artefact holds for `device`: its "host" image on the host, else the first that the device runs.
Expected<std::shared_ptr<const Image>> image_for(const Artefact& artefact, int device);
Expected<std::unique_ptr<Kernel>> prepare(const Artefact& artefact, int device, const Bindings& given = {});
/// Loads the code for `device` (kHostDevice for images of target "host"). `given` binds symbols that no shape
/// determines. Everything slow, and everything that allocates apart from workspaces, happens here.
Expected<std::unique_ptr<Kernel>> prepare(std::shared_ptr<const Image> image, int device, const Bindings& given = {});
Expected<std::unique_ptr<Kernel>> prepare(std::shared_ptr<const KernelImage> image, int device,
                                          const Bindings& given = {});
Expected<std::unique_ptr<Kernel>> prepare(std::shared_ptr<const PlanImage> image, int device,
                                          const Bindings& given = {});

}  // namespace coda
