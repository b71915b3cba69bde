// Which memory a strided view touches.
#pragma once

#include <cstdint>
#include <optional>

#include "runtime/tensor.h"

namespace coda {

/// Addresses [begin, end) that a view touches; begin == end for a view without elements, nothing if out of range.
struct AddressRange {
  uintptr_t begin = 0, end = 0;
  bool overlaps(const AddressRange& other) const { return begin < other.end && other.begin < end; }
};
std::optional<AddressRange> address_range(const TensorView& view);

/// Whether two elements of the view may share memory: its axes, smallest stride first, must each step over all of the
/// smaller ones. For views that have an address_range() and no negative strides.
bool overlaps_itself(const TensorView& view);

/// Whether the rows of two views interleave without touching: same outermost stride, and their parts of it apart. So
/// q, k and v may be column ranges of one buffer.
bool rows_are_apart(const TensorView& a, const TensorView& b);

}  // namespace coda
