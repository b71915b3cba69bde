// The narrow float formats: decoding, and rounding to the nearest, ties to even.
#pragma once

#include <cstdint>

namespace coda::ptx {

struct FloatFormat {
  int exponent_bits, mantissa_bits, bias;
  bool has_infinity;  ///< e4m3 has none: one pattern of all ones is NaN
};
constexpr FloatFormat kF16{5, 10, 15, true}, kBF16{8, 7, 127, true}, kE4M3{4, 3, 7, false}, kE5M2{5, 2, 15, true},
    kE2M1{2, 1, 1, false};

float decode_float(uint32_t bits, const FloatFormat& format);
/// To the nearest. What is beyond becomes infinity, or the greatest finite number if `saturate`, or NaN where there is
/// no infinity.
uint32_t encode_float(double value, const FloatFormat& format, bool saturate = false);

/// Tables of decode_float for 8-bit formats.
const float* decoded_e4m3();
const float* decoded_e5m2();

}  // namespace coda::ptx
