// Element types: their table, and exact conversion between each and f64. A floating type is described by its exponent
// and mantissa widths and by what its top codes mean; one encoder and one decoder serve them all.
#include "runtime/format/dtype.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace coda {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

constexpr DTypeInfo kTable[] = {
    {DType::F32, "f32", 32, NumClass::Real, 23, 8, 3.4028234663852886e38},
    {DType::F16, "f16", 16, NumClass::Real, 10, 5, 65504},
    {DType::BF16, "bf16", 16, NumClass::Real, 7, 8, 3.3895313892515355e38},
    {DType::E4M3, "e4m3", 8, NumClass::Real, 3, 4, 448},
    {DType::E5M2, "e5m2", 8, NumClass::Real, 2, 5, 57344},
    {DType::E2M1, "e2m1", 4, NumClass::Real, 1, 2, 6},
    {DType::UE8M0, "ue8m0", 8, NumClass::Real, 0, 8, 1.7014118346046923e38},
    {DType::I64, "i64", 64, NumClass::Int, 0, 0, 9223372036854775807.0},
    {DType::I32, "i32", 32, NumClass::Int, 0, 0, 2147483647},
    {DType::U8, "u8", 8, NumClass::Int, 0, 0, 255},
    {DType::I8, "i8", 8, NumClass::Int, 0, 0, 127},
    {DType::Bool, "bool", 8, NumClass::Bool, 0, 0, 1},
};

/// What a floating type does beyond its largest finite value.
enum class Top : uint8_t {
  Ieee,      ///< the top exponent holds infinity and NaNs
  OneNaN,    ///< no infinity; the topmost code alone is NaN, and what overflows becomes it
  AllFinite  ///< neither: overflow gives the largest value, NaN too (with a plus sign), as GPUs convert
};

struct Format {
  int mantissa_bits, exponent_bits;
  Top top;
  constexpr int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  constexpr uint32_t sign_bit() const { return 1u << (mantissa_bits + exponent_bits); }
  /// The code after the largest finite one, without sign.
  constexpr uint32_t end_of_finite() const {
    if (top == Top::AllFinite) return sign_bit();
    return top == Top::OneNaN ? sign_bit() - 1 : sign_bit() - (1u << mantissa_bits);
  }
};

constexpr Format kF16{10, 5, Top::Ieee}, kBF16{7, 8, Top::Ieee}, kE4M3{3, 4, Top::OneNaN}, kE5M2{2, 5, Top::Ieee},
    kE2M1{1, 2, Top::AllFinite};

double decode(Format format, uint32_t code) {
  const uint32_t magnitude = code & (format.sign_bit() - 1);
  const double sign = (code & format.sign_bit()) != 0 ? -1 : 1;
  if (magnitude >= format.end_of_finite()) {
    return format.top == Top::Ieee && magnitude == format.end_of_finite() ? sign * kInfinity : kNaN;
  }
  const uint32_t hidden = 1u << format.mantissa_bits;
  const uint32_t exponent = magnitude >> format.mantissa_bits;
  const uint32_t mantissa = (magnitude & (hidden - 1)) + (exponent > 0 ? hidden : 0);
  const int scale = static_cast<int>(exponent > 0 ? exponent : 1) - format.bias() - format.mantissa_bits;
  return sign * std::ldexp(static_cast<double>(mantissa), scale);
}

uint32_t encode(Format format, double value) {
  const uint32_t sign = std::signbit(value) ? format.sign_bit() : 0;
  if (std::isnan(value)) return format.top == Top::AllFinite ? format.end_of_finite() - 1 : format.sign_bit() - 1;
  if (value == 0) return sign;
  uint32_t magnitude = format.end_of_finite();
  if (!std::isinf(value)) {
    // The value in units of its last place is rounded once, to nearest even. A carry runs into the exponent by itself.
    int exponent = 0;
    std::frexp(value, &exponent);
    exponent = std::max(exponent - 1, 1 - format.bias());
    const double units = std::nearbyint(std::ldexp(std::fabs(value), format.mantissa_bits - exponent));
    if (exponent <= format.bias() + 1) {
      const int normal = exponent + format.bias() - 1;  // codes below the hidden bit are subnormal
      magnitude = (static_cast<uint32_t>(normal) << format.mantissa_bits) + static_cast<uint32_t>(units);
    }
  }
  if (magnitude >= format.end_of_finite()) {
    if (format.top == Top::AllFinite) return sign | (format.end_of_finite() - 1);
    return sign | format.end_of_finite();  // infinity, or the one NaN
  }
  return sign | magnitude;
}

/// ue8m0: the power of two 2^(code - 127), code 255 is NaN. No zero and no sign: what is below the least power becomes
/// it, negative values and what overflows become NaN. Nearest by distance, halfway to the even code.
double decode_power(uint32_t code) { return code == 255 ? kNaN : std::ldexp(1.0, static_cast<int>(code) - 127); }
uint32_t encode_power(double value) {
  if (std::isnan(value) || value < 0 || std::isinf(value)) return 255;
  if (value <= 0x1p-127) return 0;
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);  // in [1/2, 1): halfway between the powers is 3/4
  const int below = exponent - 1 + 127;
  const bool up = fraction > 0.75 || (fraction == 0.75 && below % 2 != 0);
  return static_cast<uint32_t>(std::min(below + (up ? 1 : 0), 255));
}

template <typename Integer>
Integer to_integer(double value) {
  constexpr double kLow = static_cast<double>(std::numeric_limits<Integer>::min());
  constexpr double kHigh = static_cast<double>(std::numeric_limits<Integer>::max());
  if (std::isnan(value)) return 0;
  if (value <= kLow) return std::numeric_limits<Integer>::min();
  if (value >= kHigh) return std::numeric_limits<Integer>::max();
  return static_cast<Integer>(value);
}

template <typename T>
T read(const void* base, int64_t index) {
  T value;
  std::memcpy(&value, static_cast<const char*>(base) + index * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}

template <typename T>
void write(void* base, int64_t index, T value) {
  std::memcpy(static_cast<char*>(base) + index * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
}

using Load = double (*)(const void*, int64_t);
using Store = void (*)(void*, int64_t, double);

template <typename T>
double load_native(const void* base, int64_t index) {
  return static_cast<double>(read<T>(base, index));
}

double load_bf16(const void* base, int64_t index) {
  return std::bit_cast<float>(static_cast<uint32_t>(read<uint16_t>(base, index)) << 16);
}

/// All codes of a small type, decoded once.
template <size_t Count>
std::array<double, Count> decoded(double (*decoder)(uint32_t)) {
  std::array<double, Count> values;
  for (size_t code = 0; code < Count; ++code) values[code] = decoder(static_cast<uint32_t>(code));
  return values;
}

template <typename Word, double (*Decoder)(uint32_t)>
double load_coded(const void* base, int64_t index) {
  static const auto values = decoded<size_t{1} << (8 * sizeof(Word))>(Decoder);
  return values[read<Word>(base, index)];
}

template <Format const& F>
double decode_as(uint32_t code) {
  return decode(F, code);
}

template <typename Word, Format const& F>
void store_coded(void* base, int64_t index, double value) {
  write(base, index, static_cast<Word>(encode(F, value)));
}

template <typename Integer>
void store_integer(void* base, int64_t index, double value) {
  write(base, index, to_integer<Integer>(value));
}

struct Access {
  Load load;
  Store store;
};

constexpr Access kAccess[] = {
    {load_native<float>, [](void* base, int64_t i, double value) { write(base, i, static_cast<float>(value)); }},
    {load_coded<uint16_t, decode_as<kF16>>, store_coded<uint16_t, kF16>},
    {load_bf16, store_coded<uint16_t, kBF16>},
    {load_coded<uint8_t, decode_as<kE4M3>>, store_coded<uint8_t, kE4M3>},
    {load_coded<uint8_t, decode_as<kE5M2>>, store_coded<uint8_t, kE5M2>},
    // Two elements a byte, the first in the low half.
    {[](const void* base, int64_t i) { return decode(kE2M1, (read<uint8_t>(base, i / 2) >> (i % 2 * 4)) & 15u); },
     [](void* base, int64_t i, double value) {
       const int shift = static_cast<int>(i % 2 * 4);
       const uint32_t kept = read<uint8_t>(base, i / 2) & (0xF0u >> shift);
       write(base, i / 2, static_cast<uint8_t>(kept | encode(kE2M1, value) << shift));
     }},
    {load_coded<uint8_t, decode_power>,
     [](void* base, int64_t i, double value) { write(base, i, static_cast<uint8_t>(encode_power(value))); }},
    {load_native<int64_t>, store_integer<int64_t>},
    {load_native<int32_t>, store_integer<int32_t>},
    {load_native<uint8_t>, store_integer<uint8_t>},
    {load_native<int8_t>, store_integer<int8_t>},
    {[](const void* base, int64_t i) -> double { return read<uint8_t>(base, i) != 0; },
     [](void* base, int64_t i, double value) { write(base, i, static_cast<uint8_t>(value != 0)); }},
};

const Access& access(DType dtype) { return kAccess[static_cast<size_t>(dtype)]; }

}  // namespace

std::span<const DTypeInfo> dtype_table() { return kTable; }

const DTypeInfo& info(DType dtype) { return kTable[static_cast<size_t>(dtype)]; }

std::optional<DType> dtype_from_name(std::string_view name) {
  for (const auto& row : kTable) {
    if (row.name == name) return row.dtype;
  }
  return std::nullopt;
}

double load_element(const void* base, DType dtype, int64_t index) { return access(dtype).load(base, index); }

void load_elements(const void* base, DType dtype, int64_t first, int64_t stride, int64_t count, double* out) {
  const Load load = access(dtype).load;
  for (int64_t i = 0; i < count; ++i) out[i] = load(base, first + i * stride);
}

void store_element(void* base, DType dtype, int64_t index, double value) { access(dtype).store(base, index, value); }

double round_to(double value, DType dtype) {
  uint64_t cell = 0;
  store_element(&cell, dtype, 0, value);
  return load_element(&cell, dtype, 0);
}

}  // namespace coda
