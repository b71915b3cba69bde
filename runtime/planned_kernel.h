// The plan of a block on a device: its kernels, launched one after the other over a workspace they share.
#pragma once

#include "runtime/kept_per_thread.h"
#include "runtime/kept_tensors.h"
#include "runtime/loaded_kernel.h"
#include "runtime/plan_layout.h"

namespace coda {

class PlannedKernel : public Kernel {
 public:
  /// `kernels`: one a step.
  PlannedKernel(PlanLayout layout, std::vector<std::unique_ptr<LoadedKernel>> kernels,
                std::unique_ptr<PlanMemory> memory, int device);

  const Signature& signature() const override { return layout_.image(); }
  using Kernel::launch;
  Status launch(std::span<const Argument> arguments, void* stream, Workspace workspace) override;
  Expected<int64_t> workspace_bytes(std::span<const Argument> arguments) const override;
  Status fold(std::span<const Argument> arguments, void* stream) override;
  void weights_changed() override { kept_.expire(); }

 private:
  std::string name() const { return "block '" + layout_.image().name + "'"; }
  /// A thread's last launch. Without arguments: none, or one that failed.
  struct Last {
    std::vector<Argument> arguments;
    PlanBinding binding;
  };

  Status launch(std::span<const Argument> arguments, void* stream, Workspace workspace, Last& last);
  /// Fills and admits the steps of one kind.
  Status fill(bool once, PlanBinding& binding) const;
  /// The same where nothing has changed since but addresses and numbers.
  Status refill(bool once, PlanBinding& binding) const;
  Status enqueue(bool once, PlanBinding& binding, void* stream);
  /// The tensors made of weights, made now if they are not there; null if the plan has none.
  Expected<void*> kept(std::span<const Argument> arguments, PlanBinding& binding, void* stream);
  Expected<void*> arena(Workspace workspace, const PlanBinding& binding, void* stream);

  PlanLayout layout_;
  std::vector<std::unique_ptr<LoadedKernel>> kernels_;
  std::unique_ptr<PlanMemory> memory_;
  KeptTensors kept_;
  KeptPerThread<Last> last_;
};

}  // namespace coda
