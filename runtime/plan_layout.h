// A plan made ready for many launches: solves the block's symbols once a launch, checks the caller's arguments, and
// finds shapes and places of the tensors between the kernels.
#pragma once

#include "runtime/arena.h"
#include "runtime/loaded_kernel.h"

namespace coda {

/// What one launch of a plan needs. Reused from call to call, it stops allocating once it has grown.
struct PlanBinding {
  Binding block;                    ///< of the plan's own parameters
  std::vector<TensorView> tensors;  ///< by tensor; addresses are filled in by place()
  int64_t arena_bytes = 0, kept_bytes = 0;
  std::vector<Call> steps;
  std::vector<std::vector<Argument>> calls;      ///< each step's arguments
  void *arena_at = nullptr, *kept_at = nullptr;  ///< where place() put the tensors

  std::vector<int64_t> bytes;      ///< by tensor
  std::vector<ArenaTensor> arena;  ///< by tensor; a kept one's offset is in memory of its own
  std::vector<int> order;
};

class PlanLayout {
 public:
  static Expected<PlanLayout> create(std::shared_ptr<const PlanImage> image, const Bindings& given);

  const PlanImage& image() const { return *image_; }
  /// The launch plan of a step's kernel, which is given away; may be called once a step.
  LaunchPlan take_kernel(size_t step) { return std::move(kernels_[step]); }
  /// Whether some tensors are made once for each set of weights.
  bool keeps() const { return keeps_; }
  /// Parameters that the steps read which run once for each set of weights.
  const std::vector<int>& weights() const { return weights_; }

  /// Checks the arguments, and fills everything but addresses of tensors and the steps.
  Status bind(std::span<const Argument> arguments, int device, PlanBinding& binding) const;
  /// As bind(), where since the last of this binding that succeeded nothing has changed but addresses and numbers.
  Status rebind(std::span<const Argument> arguments, PlanBinding& binding) const {
    return block_->rebind(arguments, binding.block);
  }
  /// Puts the tensors into memory, and fills the steps' arguments and their symbols.
  void place(std::span<const Argument> arguments, int device, void* arena, void* kept, PlanBinding& binding) const;

 private:
  struct Tensor {
    bool kept = false;
    int first = -1, last = -1;  ///< steps that use it
    size_t first_word = 0;      ///< of its extents among the block's words
  };

  Status make_block(const Bindings& given);
  void find_lifetimes();
  Status shape(size_t tensor, PlanBinding& binding) const;

  std::shared_ptr<const PlanImage> image_;
  std::optional<LaunchPlan> block_;  ///< of an image without code that has the plan's parameters
  std::vector<LaunchPlan> kernels_;
  std::vector<std::vector<int>> symbols_;  ///< by step: where the kernel's symbols are among the block's
  std::vector<Tensor> tensors_;
  std::vector<int> weights_;
  bool keeps_ = false;
};

}  // namespace coda
