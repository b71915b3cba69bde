// One kernel's code on a device: launched by itself, or as a step of a plan.
#pragma once

#include "runtime/kernel.h"
#include "runtime/tensor_map.h"

namespace coda {

class Device;

/// What one launch of a kernel has worked out; kept, so that the next does what has changed only.
struct Call {
  struct Map {
    const void* made_for = nullptr;           ///< the tensor's address; null: there is no map
    std::optional<TensorMapValues> values{};  ///< for that address
  };
  Binding binding;
  std::vector<CuTensorMap> maps;
  std::vector<Map> made;  ///< by map; empty: no map holds
  uint64_t map_bits = 0;  ///< which maps could be made

  /// Shapes or strides are others.
  void forget_maps() { made.clear(); }
};

class LoadedKernel : public Kernel {
 public:
  LoadedKernel(LaunchPlan plan, int device) : Kernel(device), plan_(std::move(plan)) {}

  const LaunchPlan& plan() const { return plan_; }
  const KernelImage& image() const { return plan_.image(); }
  const Signature& signature() const override { return plan_.image(); }

  /// Whether one launch can do a binding that LaunchPlan::fill() made: sizes that the device can't count are refused.
  virtual Status admit(std::span<const Argument> arguments, const Binding& binding) const = 0;
  /// Enqueues what admit() has accepted; nothing if there is no output. `follows`: what is in front of it on the stream
  /// is a kernel of the same plan's same launch, so that a dependent kernel may begin before that one has ended.
  virtual Status enqueue(std::span<const Argument> arguments, Call& call, void* stream, bool follows) = 0;

 private:
  LaunchPlan plan_;
};

/// Finds the functions in the image's object.
Expected<std::unique_ptr<LoadedKernel>> load_host(LaunchPlan plan);
/// Assembles the image's code if need be, and loads it.
Expected<std::unique_ptr<LoadedKernel>> load_cuda(LaunchPlan plan, const Device& device);

}  // namespace coda
