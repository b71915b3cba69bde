#include "runtime/plan_memory.h"

#include "runtime/device_pointers.h"
#include "runtime/host_pool.h"
#include "runtime/workspace.h"

namespace coda {

namespace {

Status no_memory(int64_t bytes) {
  return {Code::OutOfMemory, "no memory for a workspace of " + std::to_string(bytes) + " bytes"};
}

class HostPlanMemory : public PlanMemory {
 public:
  std::unique_lock<std::mutex> hold() override { return std::unique_lock(in_use_); }
  Status check(const Signature&, std::span<const Argument>, std::span<const Argument>, Workspace) override {
    return {};
  }
  Expected<void*> arena(void*, int64_t bytes) override {
    void* memory = arena_.get(static_cast<size_t>(bytes));
    if (!memory) return no_memory(bytes);
    return memory;
  }
  Expected<std::shared_ptr<void>> keep(int64_t bytes) override {
    auto kept = std::make_shared<Scratch>();
    void* memory = kept->get(static_cast<size_t>(bytes));
    if (!memory) return no_memory(bytes);
    return std::shared_ptr<void>(std::move(kept), memory);
  }
  Expected<bool> captured(void*) override { return false; }
  Status wait(void*) override { return {}; }

 private:
  std::mutex in_use_;
  Scratch arena_;  // under in_use_
};

class CudaPlanMemory : public PlanMemory {
 public:
  explicit CudaPlanMemory(const Device& device)
      : device_(device), arenas_(device, std::span(&kArena, 1)), pointers_(device) {}

  std::unique_lock<std::mutex> hold() override { return {}; }
  Status check(const Signature& signature, std::span<const Argument> arguments, std::span<const Argument> before,
               Workspace workspace) override {
    if (device_.cu().forked()) return device_.cu().forked_status();
    const ContextScope scope(device_);
    if (!scope.status().ok()) return scope.status();
    if (Status status = pointers_.check(signature, arguments, before); !status.ok()) return status;
    return workspace.data ? pointers_.check("workspace", workspace.data) : Status();
  }
  Expected<void*> arena(void* stream, int64_t bytes) override {
    const ContextScope scope(device_);
    if (!scope.status().ok()) return scope.status();
    void* memory = nullptr;
    const Status status = arenas_.get(static_cast<CuStream>(stream), std::span(&bytes, 1), std::span(&memory, 1));
    if (!status.ok()) return status;
    return memory;
  }
  Expected<std::shared_ptr<void>> keep(int64_t bytes) override {
    auto buffer = DeviceBuffer::allocate(device_, static_cast<size_t>(bytes));
    if (!buffer) return buffer.status();
    auto kept = std::make_shared<DeviceBuffer>(std::move(*buffer));
    void* const memory = kept->data();
    return std::shared_ptr<void>(std::move(kept), memory);
  }
  Expected<bool> captured(void* stream) override {
    const ContextScope scope(device_);
    if (!scope.status().ok()) return scope.status();
    int capturing = kCuCaptureNone;
    unsigned long id = 0;
    Status status = device_.cu().cuStreamGetCaptureInfo_v2(static_cast<CuStream>(stream), &capturing, &id, nullptr,
                                                           nullptr, nullptr);
    if (!status.ok()) return status;
    return capturing != kCuCaptureNone;
  }
  Status wait(void* stream) override {
    const ContextScope scope(device_);
    return scope.status().ok() ? device_.cu().cuStreamSynchronize(static_cast<CuStream>(stream)) : scope.status();
  }

 private:
  static inline const WorkspaceSpec kArena{};  // not zeroed
  const Device& device_;
  WorkspacePool arenas_;
  DevicePointers pointers_;
};

}  // namespace

Expected<std::unique_ptr<PlanMemory>> host_plan_memory() {
  return std::unique_ptr<PlanMemory>(std::make_unique<HostPlanMemory>());
}

Expected<std::unique_ptr<PlanMemory>> cuda_plan_memory(int ordinal) {
  auto device = Device::get(ordinal);
  if (!device) return device.status();
  return std::unique_ptr<PlanMemory>(std::make_unique<CudaPlanMemory>(**device));
}

}  // namespace coda
