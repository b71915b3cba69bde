// Element types: every code of the small types reads as its formula says, and what lies between two neighbours rounds
// to the nearer one, halves to the even code, in one rounding from f64.
#include "runtime/format/dtype.h"

#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>
#include <vector>

using namespace coda;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

uint64_t store_code(DType dtype, double value) {
  uint64_t cell = 0;
  store_element(&cell, dtype, 0, value);
  return cell;
}

double load_code(DType dtype, uint64_t code) { return load_element(&code, dtype, 0); }

/// The value of a finite code by the textbook formula, written independently of the implementation.
double formula(uint32_t code, int exponent_bits, int mantissa_bits, int bias) {
  const uint32_t mantissa = code % (1u << mantissa_bits);
  const int exponent = static_cast<int>((code >> mantissa_bits) % (1u << exponent_bits));
  const double fraction = mantissa / std::pow(2.0, mantissa_bits);
  const double magnitude =
      exponent == 0 ? fraction * std::pow(2.0, 1 - bias) : (1 + fraction) * std::pow(2.0, exponent - bias);
  return ((code >> (exponent_bits + mantissa_bits)) & 1) != 0 ? -magnitude : magnitude;
}

struct Small {
  DType dtype;
  int bits, exponent_bits, mantissa_bits, bias;
  uint32_t finite_codes;  ///< positive finite codes are [0, finite_codes)
};
const Small kSmall[] = {
    {DType::F16, 16, 5, 10, 15, 0x7C00}, {DType::BF16, 16, 8, 7, 127, 0x7F80}, {DType::E4M3, 8, 4, 3, 7, 0x7F},
    {DType::E5M2, 8, 5, 2, 15, 0x7C},    {DType::E2M1, 4, 2, 1, 1, 8},
};

}  // namespace

TEST_CASE("the dtype table is in enum order and its names are found") {
  std::set<std::string_view> names;
  for (size_t i = 0; i < dtype_table().size(); ++i) {
    const auto& row = dtype_table()[i];
    CHECK(static_cast<size_t>(row.dtype) == i);
    CHECK(names.insert(row.name).second);
    CHECK(dtype_from_name(row.name) == row.dtype);
    CHECK(&info(row.dtype) == &row);
    if (row.num_class == NumClass::Real) CHECK(round_to(row.max_finite, row.dtype) == row.max_finite);
  }
  CHECK(dtype_table().size() == 12);
  CHECK_FALSE(dtype_from_name("f64").has_value());
  CHECK_FALSE(dtype_from_name("").has_value());
}

TEST_CASE("every finite code of the small floating types reads as the formula and writes back") {
  for (const auto& type : kSmall) {
    INFO(info(type.dtype).name);
    const uint32_t sign = 1u << (type.bits - 1);
    int wrong = 0;
    for (uint32_t code = 0; code < type.finite_codes; ++code) {
      for (const uint32_t signed_code : {code, code | sign}) {
        const double value = load_code(type.dtype, signed_code);
        const double expected = formula(signed_code, type.exponent_bits, type.mantissa_bits, type.bias);
        wrong += std::bit_cast<uint64_t>(value) != std::bit_cast<uint64_t>(expected);
        wrong += store_code(type.dtype, value) != signed_code;
      }
    }
    CHECK(wrong == 0);
    CHECK(load_code(type.dtype, type.finite_codes - 1) == info(type.dtype).max_finite);
  }
}

TEST_CASE("between neighbours the nearer code wins, halfway the even one, with no double rounding") {
  for (const auto& type : kSmall) {
    INFO(info(type.dtype).name);
    const uint32_t sign = 1u << (type.bits - 1);
    int wrong = 0;
    for (uint32_t code = 0; code + 1 < type.finite_codes; ++code) {
      const double low = load_code(type.dtype, code), high = load_code(type.dtype, code + 1);
      const double middle = low + (high - low) / 2;  // exact in f64
      const uint32_t even = code % 2 == 0 ? code : code + 1;
      wrong += store_code(type.dtype, middle) != even;
      wrong += store_code(type.dtype, -middle) != (even | sign);
      // The neighbours of the middle in f64, which a rounding through f32 would lose.
      wrong += store_code(type.dtype, std::nextafter(middle, -1)) != code;
      wrong += store_code(type.dtype, std::nextafter(middle, kInfinity)) != code + 1;
      wrong += store_code(type.dtype, -std::nextafter(middle, kInfinity)) != ((code + 1) | sign);
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("overflow, infinities and NaN of each floating type") {
  auto is_nan = [](DType dtype, double value) { return std::isnan(round_to(value, dtype)); };
  // Halfway between the largest value and the one that would follow: to the even code, which is beyond for IEEE types.
  CHECK(round_to(65519.999, DType::F16) == 65504);
  CHECK(round_to(65520, DType::F16) == kInfinity);
  CHECK(round_to(-65520, DType::F16) == -kInfinity);
  CHECK(round_to(61439.9, DType::E5M2) == 57344);
  CHECK(round_to(61440, DType::E5M2) == kInfinity);
  CHECK(round_to(464, DType::E4M3) == 448);
  CHECK(is_nan(DType::E4M3, 464.001));
  CHECK(is_nan(DType::E4M3, -464.001));
  CHECK(is_nan(DType::E4M3, kInfinity));
  CHECK(is_nan(DType::E4M3, 1e300));
  CHECK(round_to(1e300, DType::BF16) == kInfinity);
  CHECK(round_to(1e300, DType::F32) == kInfinity);
  CHECK(round_to(3.4028235677973366e38, DType::F32) == kInfinity);  // halfway beyond the largest
  CHECK(round_to(3.4028235677973362e38, DType::F32) == info(DType::F32).max_finite);
  CHECK(round_to(1e300, DType::E2M1) == 6);
  CHECK(round_to(-kInfinity, DType::E2M1) == -6);
  CHECK(round_to(kNaN, DType::E2M1) == 6);
  for (const DType dtype : {DType::F32, DType::F16, DType::BF16, DType::E4M3, DType::E5M2, DType::UE8M0}) {
    CHECK(is_nan(dtype, kNaN));
  }
  for (const DType dtype : {DType::F32, DType::F16, DType::BF16, DType::E5M2}) {
    CHECK(round_to(kInfinity, dtype) == kInfinity);
    CHECK(round_to(-kInfinity, dtype) == -kInfinity);
  }
  for (uint32_t code = 0x7C01; code < 0x8000; ++code) CHECK(std::isnan(load_code(DType::F16, code)));
  for (uint32_t code = 0x7F81; code < 0x8000; ++code) CHECK(std::isnan(load_code(DType::BF16, code)));
  for (const uint32_t code : {0x7Fu, 0xFFu}) CHECK(std::isnan(load_code(DType::E4M3, code)));
  for (const uint32_t code : {0x7Du, 0x7Eu, 0x7Fu, 0xFDu}) CHECK(std::isnan(load_code(DType::E5M2, code)));
  CHECK(std::signbit(round_to(-0.0, DType::BF16)));
  CHECK(std::signbit(round_to(-1e-300, DType::E4M3)));
  // f32 subnormals, in one rounding.
  CHECK(round_to(0x1p-149, DType::F32) == 0x1p-149);
  CHECK(round_to(0x1.8p-149, DType::F32) == 0x1p-148);
  CHECK(round_to(0x1p-150, DType::F32) == 0);
}

TEST_CASE("ue8m0 holds powers of two only") {
  for (uint32_t code = 0; code < 255; ++code) {
    const double value = std::ldexp(1.0, static_cast<int>(code) - 127);
    CHECK(load_code(DType::UE8M0, code) == value);
    CHECK(store_code(DType::UE8M0, value) == code);
    const double middle = value * 1.5;
    CHECK(store_code(DType::UE8M0, middle) == (code % 2 == 0 ? code : code + 1));
    CHECK(store_code(DType::UE8M0, std::nextafter(middle, 0)) == code);
    CHECK(store_code(DType::UE8M0, std::nextafter(middle, kInfinity)) == code + 1);
  }
  CHECK(std::isnan(load_code(DType::UE8M0, 255)));
  CHECK(store_code(DType::UE8M0, 0) == 0);
  CHECK(store_code(DType::UE8M0, 0x1p-140) == 0);
  CHECK(store_code(DType::UE8M0, -1) == 255);
  CHECK(store_code(DType::UE8M0, 1e300) == 255);
}

TEST_CASE("integers truncate toward zero and saturate, bool is a truth value") {
  CHECK(round_to(2.9, DType::I32) == 2);
  CHECK(round_to(-2.9, DType::I32) == -2);
  CHECK(round_to(1e10, DType::I32) == 2147483647);
  CHECK(round_to(-kInfinity, DType::I32) == -2147483648.0);
  CHECK(round_to(kNaN, DType::I32) == 0);
  CHECK(round_to(-1, DType::U8) == 0);
  CHECK(round_to(256, DType::U8) == 255);
  CHECK(round_to(-129, DType::I8) == -128);
  int64_t wide = 0;
  store_element(&wide, DType::I64, 0, 0x1p63);
  CHECK(wide == std::numeric_limits<int64_t>::max());
  store_element(&wide, DType::I64, 0, -0x1p63);
  CHECK(wide == std::numeric_limits<int64_t>::min());
  CHECK(round_to(0.25, DType::Bool) == 1);
  CHECK(round_to(-0.0, DType::Bool) == 0);
  CHECK(round_to(kNaN, DType::Bool) == 1);
  const uint8_t truth = 7;
  CHECK(load_element(&truth, DType::Bool, 0) == 1);
  for (int value = 0; value < 256; ++value) {
    const auto byte = static_cast<uint8_t>(value);
    CHECK(load_element(&byte, DType::U8, 0) == value);
    CHECK(load_element(&byte, DType::I8, 0) == static_cast<int8_t>(byte));
  }
}

TEST_CASE("elements are packed, e2m1 two a byte with the first in the low half") {
  uint8_t bytes[2] = {0, 0};
  store_element(bytes, DType::E2M1, 0, 1);    // 0b0010
  store_element(bytes, DType::E2M1, 1, -6);   // 0b1111
  store_element(bytes, DType::E2M1, 2, 0.5);  // 0b0001
  CHECK(bytes[0] == 0xF2);
  CHECK(bytes[1] == 0x01);
  store_element(bytes, DType::E2M1, 1, 2);
  CHECK(bytes[0] == 0x42);
  CHECK(load_element(bytes, DType::E2M1, 0) == 1);
  for (const auto& row : dtype_table()) {
    std::vector<uint8_t> array(64);
    for (int i = 0; i < 5; ++i)
      store_element(array.data(), row.dtype, i, row.num_class == NumClass::Bool ? i % 2 : 1 << i % 3);
    double read[2];
    load_elements(array.data(), row.dtype, 1, 3, 2, read);
    for (int i = 0; i < 5; ++i) {
      CHECK(load_element(array.data(), row.dtype, i) == (row.num_class == NumClass::Bool ? i % 2 : 1 << i % 3));
    }
    CHECK(read[0] == load_element(array.data(), row.dtype, 1));
    CHECK(read[1] == load_element(array.data(), row.dtype, 4));
    for (size_t i = static_cast<size_t>(5 * row.bits + 7) / 8; i < array.size(); ++i) CHECK(array[i] == 0);
  }
}
