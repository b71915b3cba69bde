#include "runtime/workspace.h"

#include <algorithm>
#include <functional>
#include <thread>

#include "runtime/relaxed_capture.h"

namespace coda {

/// Slots are only ever added, at the head, so readers can walk the list while a writer adds.
struct WorkspacePool::Slot {
  Key key;
  std::atomic<const Set*> current{nullptr};
  std::vector<std::unique_ptr<Set>> all;  ///< under growing_
  Slot* next = nullptr;
};

namespace {

const CuStream kPerThreadStream = reinterpret_cast<CuStream>(uintptr_t{2});  // CU_STREAM_PER_THREAD

}  // namespace

bool WorkspacePool::Set::fits(std::span<const int64_t> bytes) const {
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (buffers[i].bytes() < static_cast<size_t>(bytes[i])) return false;
  }
  return true;
}

WorkspacePool::WorkspacePool(const Device& device, std::span<const WorkspaceSpec> specs) : device_(device) {
  for (const WorkspaceSpec& spec : specs) zeroed_.push_back(spec.zeroed);
}

WorkspacePool::~WorkspacePool() {
  for (Slot* slot = head_.load(); slot;) delete std::exchange(slot, slot->next);
}

Status WorkspacePool::get(CuStream stream, std::span<const int64_t> bytes, std::span<void*> addresses) {
  const auto key = key_of(stream);
  if (!key) return key.status();
  const Slot* slot = find(*key);
  const Set* set = slot ? slot->current.load(std::memory_order_acquire) : nullptr;
  if (!set || !set->fits(bytes)) {
    auto grown = grow(*key, bytes);
    if (!grown) return grown.status();
    set = *grown;
  }
  for (size_t i = 0; i < addresses.size(); ++i) addresses[i] = set->buffers[i].data();
  return {};
}

Expected<WorkspacePool::Key> WorkspacePool::key_of(CuStream stream) const {
  Key key{stream};
  int capturing = kCuCaptureNone;
  unsigned long id = 0;
  const Driver& cu = device_.cu();
  if (Status status = cu.cuStreamGetCaptureInfo_v2(stream, &capturing, &id, nullptr, nullptr, nullptr); !status.ok()) {
    return status;
  }
  if (capturing == kCuCaptureActive) key.capture = id;
  if (stream == kPerThreadStream) key.thread = std::hash<std::thread::id>()(std::this_thread::get_id());
  return key;
}

WorkspacePool::Slot* WorkspacePool::find(const Key& key) const {
  for (Slot* slot = head_.load(std::memory_order_acquire); slot; slot = slot->next) {
    if (slot->key == key) return slot;
  }
  return nullptr;
}

Expected<const WorkspacePool::Set*> WorkspacePool::grow(const Key& key, std::span<const int64_t> bytes) {
  const std::lock_guard lock(growing_);
  Slot* slot = find(key);
  const Set* old = slot ? slot->current.load() : nullptr;
  if (old && old->fits(bytes)) return old;  // another thread was faster
  auto set = allocate(bytes, old);
  if (!set) return set.status();
  if (!slot) {
    slot = new Slot;
    slot->key = key;
    slot->next = head_.load();
    head_.store(slot, std::memory_order_release);
  }
  slot->all.push_back(std::move(*set));
  slot->current.store(slot->all.back().get(), std::memory_order_release);
  return static_cast<const Set*>(slot->all.back().get());
}

Expected<std::unique_ptr<WorkspacePool::Set>> WorkspacePool::allocate(std::span<const int64_t> bytes,
                                                                      const Set* old) const {
  const RelaxedCapture relaxed(device_.cu());
  if (!relaxed.status().ok()) return relaxed.status();
  auto set = std::make_unique<Set>();
  for (size_t i = 0; i < bytes.size(); ++i) {
    // Outgrown buffers are kept, so they at least double: all together waste no more than the largest.
    const size_t before = old ? old->buffers[i].bytes() : 0;
    const auto needed = static_cast<size_t>(bytes[i]);
    const size_t size = needed > before ? std::max(needed, 2 * before) : before;
    auto buffer = DeviceBuffer::allocate(device_, (size + 255) / 256 * 256);
    if (!buffer) return buffer.status().with_context("workspace");
    if (zeroed_[i]) {
      if (Status status = fill_bytes(device_, buffer->address(), 0, buffer->bytes()); !status.ok()) return status;
    }
    set->buffers.push_back(std::move(*buffer));
  }
  return set;
}

}  // namespace coda
