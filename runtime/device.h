// CUDA devices: what they are, their memory, streams and events. Nothing here touches CUDA before its first use.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "coda/status.h"
#include "runtime/driver.h"
#include "runtime/tensor.h"

namespace coda {

/// What a compute capability is called and has. Features belong to a record, never to "this one or later".
struct ArchInfo {
  int major, minor;
  std::string_view name;  ///< as PTX targets are named, e.g. "sm_90a"
  bool tensor_maps;       ///< TMA
  bool wgmma;
};
std::span<const ArchInfo> arch_table();

class Device {
 public:
  /// Devices live as long as the process; their primary context is retained.
  static Expected<const Device*> get(int ordinal);
  static Expected<int> count();

  int ordinal() const { return ordinal_; }
  const std::string& name() const { return name_; }
  const std::string& arch() const { return arch_; }
  int sm_count() const { return sm_count_; }
  int shared_bytes() const { return shared_bytes_; }  ///< that one CTA may have
  size_t memory_bytes() const { return memory_bytes_; }
  const Driver& cu() const { return *driver_; }

  /// Ok if code for `target` runs here: "sm_90a" on 9.0 alone, "sm_86" on 8.6 and 8.9.
  Status runs(std::string_view target) const;

 private:
  friend class ContextScope;
  Device() = default;
  static Expected<const Device*> open(int ordinal);

  const Driver* driver_ = nullptr;
  CuContext context_ = nullptr;
  int ordinal_ = 0, major_ = 0, minor_ = 0, sm_count_ = 0, shared_bytes_ = 0;
  size_t memory_bytes_ = 0;
  std::string name_, arch_;
};

/// Makes a device's primary context current, and puts back what was current before.
class ContextScope {
 public:
  explicit ContextScope(const Device& device);
  ~ContextScope();
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;
  const Status& status() const { return status_; }

 private:
  const Device& device_;
  bool pushed_ = false;
  Status status_;
};

/// Device memory that frees itself.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  DeviceBuffer(DeviceBuffer&& other) noexcept { *this = std::move(other); }
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept;
  ~DeviceBuffer() { reset(); }

  static Expected<DeviceBuffer> allocate(const Device& device, size_t bytes);

  void* data() const { return reinterpret_cast<void*>(address_); }
  CuDevicePtr address() const { return address_; }
  size_t bytes() const { return bytes_; }

 private:
  void reset();

  const Device* device_ = nullptr;
  CuDevicePtr address_ = 0;
  size_t bytes_ = 0;
};

class Stream {
 public:
  Stream() = default;
  Stream(Stream&& other) noexcept { *this = std::move(other); }
  Stream& operator=(Stream&& other) noexcept;
  ~Stream();
  /// One that does not wait for the legacy default stream.
  static Expected<Stream> create(const Device& device);

  CuStream get() const { return stream_; }
  Status synchronize() const;

 private:
  const Device* device_ = nullptr;
  CuStream stream_ = nullptr;
};

/// A point in a stream, for timing.
class Event {
 public:
  Event() = default;
  Event(Event&& other) noexcept { *this = std::move(other); }
  Event& operator=(Event&& other) noexcept;
  ~Event();
  static Expected<Event> create(const Device& device);

  Status record(CuStream stream) const;
  /// Waits for `end`.
  static Expected<float> milliseconds(const Event& start, const Event& end);

 private:
  const Device* device_ = nullptr;
  CuEvent event_ = nullptr;
};

// Copies of bytes, finished on return.
Status copy_to_device(const Device& device, CuDevicePtr to, std::span<const uint8_t> from);
Status copy_to_host(const Device& device, std::span<uint8_t> to, CuDevicePtr from);
Status fill_bytes(const Device& device, CuDevicePtr at, uint8_t value, size_t bytes);

/// A row-major tensor in device memory.
struct DeviceTensor {
  DeviceBuffer buffer;
  TensorView view;

  /// Holds whatever the memory held.
  static Expected<DeviceTensor> create(const Device& device, DType dtype, const Sizes& shape);
  /// A copy of a host tensor.
  static Expected<DeviceTensor> from_host(const Device& device, const HostTensor& tensor);
  Expected<HostTensor> to_host(const Device& device) const;
};

}  // namespace coda
