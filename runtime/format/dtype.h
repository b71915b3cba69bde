// Element types and their properties: one table, used by every layer. Depends on nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace coda {

enum class DType : uint8_t { F32, F16, BF16, E4M3, E5M2, E2M1, UE8M0, I64, I32, U8, I8, Bool };

/// What kind of number an element is; values inside a program are f32 (Real), i64 (Int) or a truth value (Bool).
enum class NumClass : uint8_t { Real, Int, Bool };

struct DTypeInfo {
  DType dtype;
  std::string_view name;  ///< spelling in the language, e.g. "bf16"
  int bits;               ///< storage bits of one element
  NumClass num_class;
  int mantissa_bits;  ///< explicit mantissa bits of a floating type, else 0
  int exponent_bits;  ///< exponent bits of a floating type, else 0
  double max_finite;  ///< largest finite value of a floating or integer type
};

/// The table, in enum order.
std::span<const DTypeInfo> dtype_table();
const DTypeInfo& info(DType dtype);
std::optional<DType> dtype_from_name(std::string_view name);

/// Reads element `index` of a packed array as f64; exact for every type (i64 beyond 2^53 rounds).
double load_element(const void* base, DType dtype, int64_t index);
/// Reads `count` elements, `stride` apart, from element `first` on.
void load_elements(const void* base, DType dtype, int64_t first, int64_t stride, int64_t count, double* out);
/// Rounds `value` once to `dtype` and stores it as element `index`: nearest, ties to even. e4m3 and ue8m0 have no
/// infinity and become NaN beyond their range, as a cast that does not saturate; e2m1 has no NaN either and saturates,
/// NaN to its largest value; ue8m0 has no zero either, which becomes its least power. Integers truncate toward zero and
/// saturate, NaN to 0; bool is whether the value is not 0.
void store_element(void* base, DType dtype, int64_t index, double value);
/// `value` as it reads back after being stored as `dtype`.
double round_to(double value, DType dtype);

}  // namespace coda
