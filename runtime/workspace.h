// Workspaces of one kernel: one set a stream (and one a graph capture), so launches on different streams never share
// one, allocated and zeroed once, grown when a larger problem comes. Finding them takes no lock.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "runtime/device.h"
#include "runtime/format/kernel_image.h"

namespace coda {

class WorkspacePool {
 public:
  WorkspacePool(const Device& device, std::span<const WorkspaceSpec> specs);
  ~WorkspacePool();

  /// Sets addresses[i] to at least bytes[i] bytes for work on `stream`, whose context is current. Memory once handed
  /// out stays valid for the life of the pool: work in flight and captured graphs may use it.
  Status get(CuStream stream, std::span<const int64_t> bytes, std::span<void*> addresses);

 private:
  /// Whose: a stream, the capture under way on it (0: none), and for the per-thread default stream the thread.
  struct Key {
    CuStream stream = nullptr;
    uint64_t capture = 0, thread = 0;
    bool operator==(const Key&) const = default;
  };
  struct Slot;
  struct Set {
    std::vector<DeviceBuffer> buffers;
    bool fits(std::span<const int64_t> bytes) const;
  };

  Expected<Key> key_of(CuStream stream) const;
  Slot* find(const Key& key) const;
  Expected<const Set*> grow(const Key& key, std::span<const int64_t> bytes);
  Expected<std::unique_ptr<Set>> allocate(std::span<const int64_t> bytes, const Set* old) const;

  const Device& device_;
  std::vector<bool> zeroed_;
  std::atomic<Slot*> head_{nullptr};
  std::mutex growing_;
};

}  // namespace coda
