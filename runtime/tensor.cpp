#include "runtime/tensor.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "runtime/layout.h"

namespace coda {

std::optional<Sizes> Sizes::from(std::span<const int64_t> values) {
  if (values.size() > kMaxRank) return std::nullopt;
  Sizes sizes;
  for (const int64_t value : values) sizes.push_back(value);
  return sizes;
}

std::string to_text(const Sizes& sizes) {
  std::string text = "[";
  for (int i = 0; i < sizes.size(); ++i) text += (i ? ", " : "") + std::to_string(sizes[i]);
  return text + "]";
}

std::optional<int64_t> element_count(const Sizes& shape) {
  int64_t count = 1;
  bool overflow = false, empty = false;
  for (const int64_t extent : shape) {
    if (extent < 0) return std::nullopt;
    empty = empty || extent == 0;
    overflow = overflow || __builtin_mul_overflow(count, std::max<int64_t>(extent, 1), &count);
  }
  if (overflow) return std::nullopt;
  return empty ? 0 : count;
}

std::optional<int64_t> packed_bytes(DType dtype, int64_t count) {
  int64_t bits = 0;
  if (count < 0 || __builtin_mul_overflow(count, int64_t{info(dtype).bits}, &bits)) return std::nullopt;
  return bits / 8 + (bits % 8 != 0);
}

Sizes contiguous_strides(const Sizes& shape) {
  Sizes strides = shape;
  uint64_t stride = 1;
  for (int axis = shape.size() - 1; axis >= 0; --axis) {
    strides[axis] = static_cast<int64_t>(stride);
    stride *= static_cast<uint64_t>(std::max<int64_t>(shape[axis], 1));
  }
  return strides;
}

bool is_contiguous(const TensorView& view) {
  const Sizes strides = contiguous_strides(view.shape);
  for (int axis = 0; axis < view.shape.size(); ++axis) {
    if (view.shape[axis] > 1 && view.strides[axis] != strides[axis]) return false;
  }
  return true;
}

int64_t element_offset(const TensorView& view, int64_t index) {
  int64_t offset = 0;
  for (int axis = view.shape.size() - 1; axis >= 0; --axis) {
    offset += index % view.shape[axis] * view.strides[axis];
    index /= view.shape[axis];
  }
  return offset;
}

void HostTensor::Free::operator()(void* memory) const { std::free(memory); }

Expected<HostTensor> HostTensor::create(DType dtype, const Sizes& shape) {
  const auto count = element_count(shape);
  const auto bytes = count ? packed_bytes(dtype, *count) : std::nullopt;
  constexpr int64_t kAlignment = 64;
  if (!bytes || *bytes > INT64_MAX - kAlignment) {
    return Status(Code::InvalidArgument, "a tensor of shape " + to_text(shape) + " is not possible");
  }
  HostTensor tensor;
  const int64_t rounded = (std::max<int64_t>(*bytes, 1) + kAlignment - 1) / kAlignment * kAlignment;
  tensor.memory_.reset(std::aligned_alloc(kAlignment, static_cast<size_t>(rounded)));
  if (!tensor.memory_) {
    return Status(Code::OutOfMemory,
                  "no host memory for a tensor of shape " + to_text(shape) + " (" + std::to_string(*bytes) + " bytes)");
  }
  std::memset(tensor.memory_.get(), 0, static_cast<size_t>(rounded));
  tensor.bytes_ = *bytes;
  tensor.view_ = {tensor.memory_.get(), dtype, shape, contiguous_strides(shape), kHostDevice};
  return tensor;
}

Expected<HostTensor> contiguous_copy(const TensorView& view) {
  if (view.device != kHostDevice) return Status(Code::InvalidArgument, "the tensor to copy is not in host memory");
  if (view.strides.size() != view.shape.size() || !address_range(view)) {
    return Status(Code::InvalidArgument, "the strides of a tensor to copy are not usable");
  }
  auto copy = HostTensor::create(view.dtype, view.shape);
  if (!copy) return copy.status();
  if (is_contiguous(view)) {
    if (copy->bytes() > 0) std::memcpy(copy->view().data, view.data, static_cast<size_t>(copy->bytes()));
    return copy;
  }
  const int64_t count = *element_count(view.shape);
  const int bits = info(view.dtype).bits;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t from = element_offset(view, i);
    if (bits % 8 != 0) {  // through the value: a packed type's bits are not addressable, and it has no NaN to lose
      store_element(copy->view().data, view.dtype, i, load_element(view.data, view.dtype, from));
      continue;
    }
    const size_t width = static_cast<size_t>(bits) / 8;
    std::memcpy(static_cast<uint8_t*>(copy->view().data) + static_cast<size_t>(i) * width,
                static_cast<const uint8_t*>(view.data) + from * static_cast<int64_t>(width), width);
  }
  return copy;
}

}  // namespace coda
