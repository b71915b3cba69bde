// Elements of host tensors one by one, conversions between element types, and work split over the machine's cores.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <variant>

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

/// Holds every value of every element type, those of files included.
using Exact = long double;
static_assert(std::numeric_limits<Exact>::digits >= 64);

/// Types that only files have.
enum class FileType : uint8_t { F64, I16, U16, U32, U64 };
using ElementType = std::variant<DType, FileType>;

Exact load_exact(const void* base, ElementType type, int64_t index);
inline Exact get_exact(const HostTensor& tensor, int64_t index) {
  return load_exact(tensor.view().data, tensor.view().dtype, index);
}

/// What storing a value did to it.
enum class Fit : uint8_t {
  Exact,
  Rounded,
  Outside,  ///< an integer type or bool does not reach that far, or the value is no number
};
/// Rounds as store_element() does, but once from the exact value.
Fit store_exact(void* base, DType dtype, int64_t index, Exact value);

/// Least and largest value of an integer type or bool.
struct IntegerRange {
  int64_t low, high;
};
IntegerRange integer_range(DType dtype);

struct Conversion {
  HostTensor tensor;
  int64_t rounded = 0, outside = 0;  ///< how many values
};
/// Packed elements as a tensor of another type.
Expected<Conversion> convert(const void* source, ElementType type, const Sizes& shape, DType dtype);

/// Splits [0, count) into contiguous parts for the machine's cores and runs `body(context, begin, end)` on each. Parts
/// start at multiples of 64.
void for_each_part(int64_t count, void (*body)(void* context, int64_t begin, int64_t end), void* context);
template <typename Body>
void parallel_parts(int64_t count, Body body) {
  for_each_part(
      count, [](void* context, int64_t begin, int64_t end) { (*static_cast<Body*>(context))(begin, end); }, &body);
}

}  // namespace coda
