#include "runtime/device.h"

#include <charconv>
#include <map>

#include "runtime/process_mutex.h"

namespace coda {

namespace {

constexpr ArchInfo kArchs[] = {
    {8, 0, "sm_80", false, false},   {8, 6, "sm_86", false, false},   {8, 7, "sm_87", false, false},
    {8, 9, "sm_89", false, false},   {9, 0, "sm_90a", true, true},    {10, 0, "sm_100a", true, false},
    {10, 3, "sm_103a", true, false}, {12, 0, "sm_120a", true, false}, {12, 1, "sm_121a", true, false},
};

std::string arch_name(int major, int minor) {
  for (const ArchInfo& arch : kArchs) {
    if (arch.major == major && arch.minor == minor) return std::string(arch.name);
  }
  return "sm_" + std::to_string(major) + std::to_string(minor);
}

/// "sm_89" -> 89; nothing for "sm_90a", whose code runs on exactly that architecture.
std::optional<int> plain_capability(std::string_view target) {
  constexpr std::string_view kPrefix = "sm_";
  if (!target.starts_with(kPrefix)) return std::nullopt;
  target.remove_prefix(kPrefix.size());
  int number = 0;
  const auto [end, error] = std::from_chars(target.data(), target.data() + target.size(), number);
  if (error != std::errc() || end != target.data() + target.size()) return std::nullopt;
  return number;
}

}  // namespace

std::span<const ArchInfo> arch_table() { return kArchs; }

Expected<int> Device::count() {
  auto cu = driver();
  if (!cu) return cu.status();
  int count = 0;
  if (Status status = (*cu)->cuDeviceGetCount(&count); !status.ok()) return status;
  return count;
}

Expected<const Device*> Device::get(int ordinal) {
  // Never destroyed: kernels may outlive the order in which statics die.
  static auto* mutex = new ProcessMutex;
  static auto* devices = new std::map<int, const Device*>;
  const std::lock_guard lock(*mutex);
  const auto it = devices->find(ordinal);
  if (it != devices->end()) {
    if (it->second->cu().forked()) return it->second->cu().forked_status();
    return it->second;
  }
  auto device = open(ordinal);
  if (device) devices->emplace(ordinal, *device);
  return device;
}

Expected<const Device*> Device::open(int ordinal) {
  auto count = Device::count();
  if (!count) return count.status();
  if (ordinal < 0 || ordinal >= *count) {
    return Status(Code::NotFound, "there is no CUDA device " + std::to_string(ordinal) + "; this machine has " +
                                      std::to_string(*count) + ", counted from 0");
  }
  std::unique_ptr<Device> device(new Device);
  device->driver_ = *driver();
  device->ordinal_ = ordinal;
  const Driver& cu = *device->driver_;
  CuDevice handle = 0;
  if (Status status = cu.cuDeviceGet(&handle, ordinal); !status.ok()) return status;
  char name[128] = {};
  if (Status status = cu.cuDeviceGetName(name, sizeof(name) - 1, handle); !status.ok()) return status;
  device->name_ = name;
  if (Status status = cu.cuDeviceTotalMem_v2(&device->memory_bytes_, handle); !status.ok()) return status;
  const std::pair<int, int*> attributes[] = {{kCuAttributeMajor, &device->major_},
                                             {kCuAttributeMinor, &device->minor_},
                                             {kCuAttributeSmCount, &device->sm_count_},
                                             {kCuAttributeSharedOptin, &device->shared_bytes_}};
  for (const auto& [attribute, value] : attributes) {
    if (Status status = cu.cuDeviceGetAttribute(value, attribute, handle); !status.ok()) return status;
  }
  device->arch_ = arch_name(device->major_, device->minor_);
  if (Status status = cu.cuDevicePrimaryCtxRetain(&device->context_, handle); !status.ok()) return status;
  return static_cast<const Device*>(device.release());
}

Status Device::runs(std::string_view target) const {
  if (target == arch_) return {};
  const auto capability = plain_capability(target);
  if (capability && *capability / 10 == major_ && *capability % 10 <= minor_) return {};
  return {Code::Unsupported, "the code is for " + std::string(target) + ", but CUDA device " +
                                 std::to_string(ordinal_) + " (" + name_ + ") is " + arch_ +
                                 "; compile the kernel for that"};
}

ContextScope::ContextScope(const Device& device) : device_(device) {
  CuContext current = nullptr;
  status_ = device.cu().cuCtxGetCurrent(&current);
  if (!status_.ok() || current == device.context_) return;
  status_ = device.cu().cuCtxPushCurrent_v2(device.context_);
  pushed_ = status_.ok();
}

ContextScope::~ContextScope() {
  CuContext popped = nullptr;
  if (pushed_) (void)device_.cu().cuCtxPopCurrent_v2(&popped);
}

}  // namespace coda
