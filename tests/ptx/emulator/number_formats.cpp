#include "tests/ptx/emulator/number_formats.h"

#include <array>
#include <cmath>
#include <limits>

namespace coda::ptx {
namespace {

uint32_t nan_of(const FloatFormat& f) {
  const int bits = f.exponent_bits + f.mantissa_bits;
  return (1u << bits) - 1;
}

uint32_t greatest(const FloatFormat& f) {
  const uint32_t all = nan_of(f);
  if (f.has_infinity) return all - (1u << f.mantissa_bits);
  return f.exponent_bits == 2 ? all : all - 1;  // e2m1 has no NaN
}

std::array<float, 256> table(const FloatFormat& format) {
  std::array<float, 256> values{};
  for (uint32_t i = 0; i < 256; ++i) values[i] = decode_float(i, format);
  return values;
}

}  // namespace

float decode_float(uint32_t bits, const FloatFormat& f) {
  const int total = f.exponent_bits + f.mantissa_bits;
  const double sign = bits >> total & 1 ? -1 : 1;
  const uint32_t magnitude = bits & ((1u << total) - 1);
  const int exponent = static_cast<int>(magnitude >> f.mantissa_bits);
  const double mantissa = magnitude & ((1u << f.mantissa_bits) - 1);
  if (magnitude > greatest(f)) {
    const bool infinite = f.has_infinity && mantissa == 0;
    return infinite ? static_cast<float>(sign) * std::numeric_limits<float>::infinity()
                    : std::numeric_limits<float>::quiet_NaN();
  }
  const double value = exponent == 0 ? std::ldexp(mantissa, 1 - f.bias - f.mantissa_bits)
                                     : std::ldexp(1 + std::ldexp(mantissa, -f.mantissa_bits), exponent - f.bias);
  return static_cast<float>(sign * value);
}

uint32_t encode_float(double value, const FloatFormat& f, bool saturate) {
  const uint32_t sign = std::signbit(value) ? 1u << (f.exponent_bits + f.mantissa_bits) : 0;
  if (std::isnan(value)) return nan_of(f);
  const double magnitude = std::fabs(value);
  const uint32_t infinity = saturate ? greatest(f) : greatest(f) + 1;
  if (std::isinf(magnitude)) return sign | infinity;
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  const int least = 1 - f.bias;  // of normal numbers
  const int unit = std::max(exponent - 1, least) - f.mantissa_bits;
  const double units = std::nearbyint(std::ldexp(magnitude, -unit));
  if (units == 0) return sign;
  const double rounded = std::ldexp(units, unit);
  if (rounded > static_cast<double>(decode_float(greatest(f), f))) return sign | infinity;
  std::frexp(rounded, &exponent);
  const int biased = std::max(exponent - 1, least);
  const auto mantissa = static_cast<uint32_t>(std::ldexp(rounded, f.mantissa_bits - biased));  // with the leading one
  const bool normal = mantissa >> f.mantissa_bits;
  const uint32_t stored_exponent = normal ? static_cast<uint32_t>(biased + f.bias) : 0;
  return sign | stored_exponent << f.mantissa_bits | (mantissa & ((1u << f.mantissa_bits) - 1));
}

const float* decoded_e4m3() {
  static const auto values = table(kE4M3);
  return values.data();
}
const float* decoded_e5m2() {
  static const auto values = table(kE5M2);
  return values.data();
}

}  // namespace coda::ptx
