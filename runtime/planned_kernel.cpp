#include "runtime/planned_kernel.h"

#include "runtime/change.h"

namespace coda {

namespace {

/// One a thread: after a thread's first launches nothing here allocates.
PlanBinding& thread_binding() {
  thread_local PlanBinding binding;
  return binding;
}

}  // namespace

PlannedKernel::PlannedKernel(PlanLayout layout, std::vector<std::unique_ptr<LoadedKernel>> kernels,
                             std::unique_ptr<PlanMemory> memory, int device)
    : Kernel(device),
      layout_(std::move(layout)),
      kernels_(std::move(kernels)),
      memory_(std::move(memory)),
      kept_(layout_.weights()) {}

Status PlannedKernel::launch(std::span<const Argument> arguments, void* stream, Workspace workspace) {
  const auto last = last_.use();
  Status status = launch(arguments, stream, workspace, *last);
  if (status.ok()) {
    last->arguments.assign(arguments.begin(), arguments.end());
  } else {
    last->arguments.clear();
  }
  return status;
}

Status PlannedKernel::launch(std::span<const Argument> arguments, void* stream, Workspace workspace, Last& last) {
  PlanBinding& binding = last.binding;
  const Change since = change(last.arguments, arguments);
  Status status;
  if (since == Change::Form) status = layout_.bind(arguments, device(), binding);
  if (since == Change::Values) status = layout_.rebind(arguments, binding);
  if (!status.ok() || !binding.block.has_output) return status;
  std::span<const Argument> before;
  if (since != Change::Form) before = last.arguments;
  status = memory_->check(signature(), arguments, before, workspace);
  if (!status.ok()) return status;
  const auto lock = memory_->hold();
  auto made = kept(arguments, binding, stream);
  if (!made) return made.status();
  auto shared = arena(workspace, binding, stream);
  if (!shared) return shared.status();
  if (since != Change::None || *shared != binding.arena_at || *made != binding.kept_at) {
    layout_.place(arguments, device(), *shared, *made, binding);
    status = since == Change::Form ? fill(false, binding) : refill(false, binding);
    if (!status.ok()) return status;
  }
  return enqueue(false, binding, stream);
}

Status PlannedKernel::fold(std::span<const Argument> arguments, void* stream) {
  if (!layout_.keeps()) return {};
  PlanBinding& binding = thread_binding();
  if (Status status = layout_.bind(arguments, device(), binding); !status.ok()) return status;
  if (Status status = memory_->check(signature(), arguments, {}, {}); !status.ok()) return status;
  const auto lock = memory_->hold();
  return kept(arguments, binding, stream).status();
}

Expected<int64_t> PlannedKernel::workspace_bytes(std::span<const Argument> arguments) const {
  PlanBinding& binding = thread_binding();
  if (Status status = layout_.bind(arguments, device(), binding); !status.ok()) return status;
  return binding.arena_bytes;
}

Status PlannedKernel::fill(bool once, PlanBinding& binding) const {
  for (size_t s = 0; s < kernels_.size(); ++s) {
    if (layout_.image().steps[s].once != once) continue;
    Call& call = binding.steps[s];
    call.forget_maps();
    Status status = kernels_[s]->plan().fill(binding.calls[s], call.binding);
    if (status.ok()) status = kernels_[s]->admit(binding.calls[s], call.binding);
    if (!status.ok()) return status.with_context(name());
  }
  return {};
}

Status PlannedKernel::refill(bool once, PlanBinding& binding) const {
  for (size_t s = 0; s < kernels_.size(); ++s) {
    if (layout_.image().steps[s].once != once) continue;
    Status status = kernels_[s]->plan().refill(binding.calls[s], binding.steps[s].binding);
    if (!status.ok()) return status.with_context(name());
  }
  return {};
}

Status PlannedKernel::enqueue(bool once, PlanBinding& binding, void* stream) {
  // The first one waits for all that came before, so that kernels which overlap are of one launch of one plan.
  bool follows = false;
  for (size_t s = 0; s < kernels_.size(); ++s) {
    if (layout_.image().steps[s].once != once) continue;
    Status status = kernels_[s]->enqueue(binding.calls[s], binding.steps[s], stream, follows);
    if (!status.ok()) return status.with_context(name());
    follows = follows || binding.steps[s].binding.has_output;
  }
  return {};
}

Expected<void*> PlannedKernel::kept(std::span<const Argument> arguments, PlanBinding& binding, void* stream) {
  if (!layout_.keeps()) return static_cast<void*>(nullptr);
  if (void* made = kept_.find(arguments)) return made;
  auto captured = memory_->captured(stream);
  if (!captured) return captured.status();
  if (*captured) {
    return Status(Code::Unsupported, name() +
                                         ": what it makes of its weights has not been made for these, and can't "
                                         "be while a graph is captured; launch it once before, or fold()");
  }
  return kept_.make(arguments, binding.kept_bytes, *memory_, [&](void* memory) {
    layout_.place(arguments, device(), nullptr, memory, binding);
    Status status = fill(true, binding);
    if (status.ok()) status = enqueue(true, binding, stream);
    return status.ok() ? memory_->wait(stream) : status;
  });
}

Expected<void*> PlannedKernel::arena(Workspace workspace, const PlanBinding& binding, void* stream) {
  if (!workspace.data) {
    auto memory = memory_->arena(stream, std::max<int64_t>(binding.arena_bytes, 1));
    return memory ? std::move(memory) : Expected<void*>(memory.status().with_context(name()));
  }
  const auto needed = static_cast<size_t>(binding.arena_bytes);
  auto unusable = [&](const std::string& why) {
    return Status(Code::InvalidArgument, name() + ": the workspace given " + why);
  };
  if (workspace.bytes < needed) {
    return unusable("has " + std::to_string(workspace.bytes) + " bytes; these arguments need " +
                    std::to_string(needed));
  }
  if (reinterpret_cast<uintptr_t>(workspace.data) % kWorkspaceAlignment != 0) {
    return unusable("is not at a multiple of " + std::to_string(kWorkspaceAlignment) + " bytes");
  }
  return workspace.data;
}

}  // namespace coda
