// Tensors as the runtime sees them: a typed, strided view of memory that somebody owns, and a tensor that owns host
// memory.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "coda/status.h"
#include "runtime/format/dtype.h"

namespace coda {

inline constexpr int kMaxRank = 8;
/// TensorView::device of memory that the CPU owns; other values are CUDA ordinals.
inline constexpr int kHostDevice = -1;

/// Extents or strides: a vector that never allocates. Its size is at most kMaxRank, which whoever fills it checks.
class Sizes {
 public:
  Sizes() = default;
  Sizes(std::initializer_list<int64_t> values) {
    for (const int64_t value : values) push_back(value);
  }
  /// Nothing if there are more than kMaxRank values.
  static std::optional<Sizes> from(std::span<const int64_t> values);

  int size() const { return size_; }
  bool empty() const { return size_ == 0; }
  void push_back(int64_t value) { values_.at(static_cast<size_t>(size_++)) = value; }
  int64_t& operator[](int i) { return values_[static_cast<size_t>(i)]; }
  int64_t operator[](int i) const { return values_[static_cast<size_t>(i)]; }
  int64_t back() const { return values_[static_cast<size_t>(size_ - 1)]; }
  const int64_t* begin() const { return values_.data(); }
  const int64_t* end() const { return values_.data() + size_; }
  bool operator==(const Sizes& other) const { return std::equal(begin(), end(), other.begin(), other.end()); }

 private:
  std::array<int64_t, kMaxRank> values_{};
  int size_ = 0;
};

/// "[8, 4096]".
std::string to_text(const Sizes& sizes);

struct TensorView {
  void* data = nullptr;
  DType dtype = DType::F32;
  Sizes shape;
  Sizes strides;  ///< in elements, as many as extents
  int device = kHostDevice;
};

/// Product of the extents; nothing if it overflows or an extent is negative.
std::optional<int64_t> element_count(const Sizes& shape);
/// Bytes of `count` packed elements; nothing on overflow.
std::optional<int64_t> packed_bytes(DType dtype, int64_t count);
/// Row-major strides; those of shapes whose element_count() overflows are meaningless.
Sizes contiguous_strides(const Sizes& shape);
bool is_contiguous(const TensorView& view);

/// Offset, in elements, of the view's `index`-th element in row-major order.
int64_t element_offset(const TensorView& view, int64_t index);

/// A tensor in host memory, aligned to 64 bytes.
class HostTensor {
 public:
  HostTensor() = default;
  /// Zero-filled and row-major; InvalidArgument for impossible shapes, OutOfMemory where there is not enough.
  static Expected<HostTensor> create(DType dtype, const Sizes& shape);

  const TensorView& view() const { return view_; }
  int64_t bytes() const { return bytes_; }
  std::span<uint8_t> storage() { return {static_cast<uint8_t*>(view_.data), static_cast<size_t>(bytes_)}; }
  std::span<const uint8_t> storage() const { return {static_cast<uint8_t*>(view_.data), static_cast<size_t>(bytes_)}; }
  /// Another order of the same elements, e.g. column-major; as many strides as extents.
  void set_strides(const Sizes& strides) { view_.strides = strides; }

 private:
  struct Free {
    void operator()(void* memory) const;
  };
  std::unique_ptr<void, Free> memory_;
  TensorView view_;
  int64_t bytes_ = 0;
};

/// A row-major copy of a host view.
Expected<HostTensor> contiguous_copy(const TensorView& view);

}  // namespace coda
