// Elements of host tensors one by one, conversions between element types, and work split over the machine's cores.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/tensor.h"

namespace coda {

inline int64_t count(const HostTensor& tensor) { return *element_count(tensor.view().shape); }
inline double get(const HostTensor& tensor, int64_t index) {
  return load_element(tensor.view().data, tensor.view().dtype, index);
}
inline void set(HostTensor& tensor, int64_t index, double value) {
  store_element(tensor.view().data, tensor.view().dtype, index, value);
}

/// "bf16[8192, 4096]", "f32"
std::string describe(DType dtype, const Sizes& shape);

/// A copy of the packed tensor with element type `dtype`. Counts in `inexact` the values that had to be rounded.
Expected<HostTensor> convert(const HostTensor& source, DType dtype, int64_t& inexact);

/// Splits [0, count) into contiguous parts for the machine's cores and runs `body(context, begin, end)` on each. Parts
/// start at multiples of 64.
void for_each_part(int64_t count, void (*body)(void* context, int64_t begin, int64_t end), void* context);
template <typename Body>
void parallel_parts(int64_t count, Body body) {
  for_each_part(
      count, [](void* context, int64_t begin, int64_t end) { (*static_cast<Body*>(context))(begin, end); }, &body);
}

}  // namespace coda
