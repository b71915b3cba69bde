#include "runtime/layout.h"

#include <array>

namespace coda {

std::optional<AddressRange> address_range(const TensorView& view) {
  const auto base = reinterpret_cast<uintptr_t>(view.data);
  int64_t lowest = 0, highest = 0;  // element offsets
  for (int axis = 0; axis < view.shape.size(); ++axis) {
    if (view.shape[axis] < 0) return std::nullopt;
    if (view.shape[axis] == 0) return AddressRange{base, base};
    int64_t reach = 0;
    int64_t& side = view.strides[axis] < 0 ? lowest : highest;
    if (__builtin_mul_overflow(view.shape[axis] - 1, view.strides[axis], &reach) ||
        __builtin_add_overflow(side, reach, &side)) {
      return std::nullopt;
    }
  }
  int64_t end = 0, below = 0, low_bits = 0, high_bits = 0;
  const int64_t bits = info(view.dtype).bits;
  if (__builtin_add_overflow(highest, int64_t{1}, &highest) || __builtin_mul_overflow(highest, bits, &high_bits) ||
      __builtin_mul_overflow(lowest, bits, &low_bits)) {
    return std::nullopt;
  }
  end = high_bits / 8 + (high_bits % 8 != 0);
  below = -(low_bits / 8) + (low_bits % 8 != 0);
  AddressRange range;
  if (__builtin_sub_overflow(base, static_cast<uintptr_t>(below), &range.begin) ||
      __builtin_add_overflow(base, static_cast<uintptr_t>(end), &range.end)) {
    return std::nullopt;
  }
  return range;
}

bool overlaps_itself(const TensorView& view) {
  std::array<bool, kMaxRank> done{};
  int64_t reach = 0;  // largest offset of the axes done so far
  for (;;) {
    int next = -1;
    for (int axis = 0; axis < view.shape.size(); ++axis) {
      if (done[static_cast<size_t>(axis)] || view.shape[axis] <= 1) continue;
      if (next < 0 || view.strides[axis] < view.strides[next]) next = axis;
    }
    if (next < 0) return false;
    if (view.strides[next] <= reach) return true;
    reach += (view.shape[next] - 1) * view.strides[next];  // address_range() has shown that this fits
    done[static_cast<size_t>(next)] = true;
  }
}

bool rows_are_apart(const TensorView& a, const TensorView& b) {
  auto row_bytes = [](const TensorView& view, int64_t& pitch) -> std::optional<int64_t> {
    int outer = -1;
    for (int axis = 0; axis < view.shape.size(); ++axis) {
      if (view.shape[axis] > 1 && (outer < 0 || view.strides[axis] > view.strides[outer])) outer = axis;
    }
    if (outer < 0 || info(view.dtype).bits % 8 != 0) return std::nullopt;
    TensorView row = view;
    row.shape[outer] = 1;
    const auto range = address_range(row);
    if (!range || __builtin_mul_overflow(view.strides[outer], int64_t{info(view.dtype).bits / 8}, &pitch)) {
      return std::nullopt;
    }
    return static_cast<int64_t>(range->end - range->begin);
  };
  int64_t pitch_a = 0, pitch_b = 0;
  const auto width_a = row_bytes(a, pitch_a), width_b = row_bytes(b, pitch_b);
  if (!width_a || !width_b || pitch_a != pitch_b || pitch_a <= 0) return false;
  const auto base_a = reinterpret_cast<intptr_t>(a.data), base_b = reinterpret_cast<intptr_t>(b.data);
  const int64_t distance = ((base_b - base_a) % pitch_a + pitch_a) % pitch_a;
  return distance >= *width_a && distance + *width_b <= pitch_a;
}

}  // namespace coda
