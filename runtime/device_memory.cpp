// Memory, streams and events of a device. Destructors ignore failure: the context may be gone, or the process forked.
#include "runtime/device.h"
#include "runtime/relaxed_capture.h"

namespace coda {

Expected<DeviceBuffer> DeviceBuffer::allocate(const Device& device, size_t bytes) {
  DeviceBuffer buffer;
  buffer.device_ = &device;
  if (bytes == 0) return buffer;
  const ContextScope scope(device);
  if (!scope.status().ok()) return scope.status();
  const RelaxedCapture relaxed(device.cu());
  if (Status status = device.cu().cuMemAlloc_v2(&buffer.address_, bytes); !status.ok()) {
    return status.with_context("allocating " + std::to_string(bytes) + " bytes on CUDA device " +
                               std::to_string(device.ordinal()));
  }
  buffer.bytes_ = bytes;
  return buffer;
}

DeviceBuffer& DeviceBuffer::operator=(DeviceBuffer&& other) noexcept {
  if (this != &other) {
    reset();
    device_ = other.device_;
    address_ = std::exchange(other.address_, 0);
    bytes_ = std::exchange(other.bytes_, 0);
  }
  return *this;
}

void DeviceBuffer::reset() {
  if (!address_) return;
  const ContextScope scope(*device_);
  const RelaxedCapture relaxed(device_->cu());
  if (scope.status().ok()) (void)device_->cu().cuMemFree_v2(address_);
  address_ = 0;
}

Expected<Stream> Stream::create(const Device& device) {
  Stream stream;
  stream.device_ = &device;
  const ContextScope scope(device);
  if (!scope.status().ok()) return scope.status();
  if (Status status = device.cu().cuStreamCreate(&stream.stream_, kCuStreamNonBlocking); !status.ok()) return status;
  return stream;
}

Stream& Stream::operator=(Stream&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(stream_, other.stream_);
  return *this;
}

Stream::~Stream() {
  if (!stream_) return;
  const ContextScope scope(*device_);
  if (scope.status().ok()) (void)device_->cu().cuStreamDestroy_v2(stream_);
}

Status Stream::synchronize() const {
  const ContextScope scope(*device_);
  return scope.status().ok() ? device_->cu().cuStreamSynchronize(stream_) : scope.status();
}

Expected<Event> Event::create(const Device& device) {
  Event event;
  event.device_ = &device;
  const ContextScope scope(device);
  if (!scope.status().ok()) return scope.status();
  if (Status status = device.cu().cuEventCreate(&event.event_, kCuEventDefault); !status.ok()) return status;
  return event;
}

Event& Event::operator=(Event&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(event_, other.event_);
  return *this;
}

Event::~Event() {
  if (!event_) return;
  const ContextScope scope(*device_);
  if (scope.status().ok()) (void)device_->cu().cuEventDestroy_v2(event_);
}

Status Event::record(CuStream stream) const {
  const ContextScope scope(*device_);
  return scope.status().ok() ? device_->cu().cuEventRecord(event_, stream) : scope.status();
}

Expected<float> Event::milliseconds(const Event& start, const Event& end) {
  const ContextScope scope(*end.device_);
  if (!scope.status().ok()) return scope.status();
  const Driver& cu = end.device_->cu();
  if (Status status = cu.cuEventSynchronize(end.event_); !status.ok()) return status;
  float time = 0;
  if (Status status = cu.cuEventElapsedTime(&time, start.event_, end.event_); !status.ok()) return status;
  return time;
}

namespace {

/// Runs `enqueue` on a stream of its own and waits for it: the legacy default stream would wait for everybody.
template <class F>
Status on_own_stream(const Device& device, F enqueue) {
  const ContextScope scope(device);
  if (!scope.status().ok()) return scope.status();
  auto stream = Stream::create(device);
  if (!stream) return stream.status();
  Status status = enqueue(stream->get());
  const Status finished = stream->synchronize();
  return status.ok() ? finished : status;
}

}  // namespace

Status copy_to_device(const Device& device, CuDevicePtr to, std::span<const uint8_t> from) {
  if (from.empty()) return {};
  return on_own_stream(
      device, [&](CuStream stream) { return device.cu().cuMemcpyHtoDAsync_v2(to, from.data(), from.size(), stream); });
}

Status copy_to_host(const Device& device, std::span<uint8_t> to, CuDevicePtr from) {
  if (to.empty()) return {};
  return on_own_stream(
      device, [&](CuStream stream) { return device.cu().cuMemcpyDtoHAsync_v2(to.data(), from, to.size(), stream); });
}

Status fill_bytes(const Device& device, CuDevicePtr at, uint8_t value, size_t bytes) {
  if (bytes == 0) return {};
  return on_own_stream(device, [&](CuStream stream) { return device.cu().cuMemsetD8Async(at, value, bytes, stream); });
}

Expected<DeviceTensor> DeviceTensor::create(const Device& device, DType dtype, const Sizes& shape) {
  const auto count = element_count(shape);
  const auto bytes = count ? packed_bytes(dtype, *count) : std::nullopt;
  if (!bytes) return Status(Code::InvalidArgument, "a tensor of shape " + to_text(shape) + " is not possible");
  auto buffer = DeviceBuffer::allocate(device, static_cast<size_t>(*bytes));
  if (!buffer) return buffer.status();
  const TensorView view = {buffer->data(), dtype, shape, contiguous_strides(shape), device.ordinal()};
  return DeviceTensor{std::move(*buffer), view};
}

Expected<DeviceTensor> DeviceTensor::from_host(const Device& device, const HostTensor& tensor) {
  auto copy = create(device, tensor.view().dtype, tensor.view().shape);
  if (!copy) return copy.status();
  copy->view.strides = tensor.view().strides;  // the storage is copied as it lies
  if (Status status = copy_to_device(device, copy->buffer.address(), tensor.storage()); !status.ok()) return status;
  return copy;
}

Expected<HostTensor> DeviceTensor::to_host(const Device& device) const {
  auto copy = HostTensor::create(view.dtype, view.shape);
  if (!copy) return copy.status();
  copy->set_strides(view.strides);
  if (Status status = copy_to_host(device, copy->storage(), buffer.address()); !status.ok()) return status;
  return copy;
}

}  // namespace coda
