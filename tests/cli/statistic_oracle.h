// What statistics are, and how far f32 may be off, computed from their definitions in long double with compensated
// sums: written apart from the compiler and from its reference.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "runtime/format/dtype.h"

namespace coda::testing {

/// What a statistic's elements are like.
enum class Elements : uint8_t {
  Ordinary,
  FarAbove,  ///< about 1e4
  FarBelow,
  Zeros,  ///< of both signs
  WithNaN,
  WithInfinity,
  WithMinusInfinity,
  WithBothInfinities,
  OfMinusInfinity,
  Tiny,  ///< subnormal
  Equals,
};
inline constexpr int kKindsOfElements = 11;

/// `tame`: magnitudes about 1, so that no product of some of them is too large.
std::vector<float> make_elements(Elements kind, size_t count, bool tame, uint32_t seed);

using Numbers = std::span<const float>;

/// One statistic, or what a row becomes by its own.
struct StatisticKind {
  std::string name;
  std::string functions;   ///< before the kernel
  std::string expression;  ///< of z over the dimensions @
  DType result = DType::F32;
  bool tame = false, one_dimension = false;
  bool fed_back = false;  ///< an element for each
  /// The values, and what each may be off; one of each where it isn't fed back.
  void (*value)(Numbers x, std::vector<long double>& want, std::vector<long double>& allowed) = nullptr;
  std::string before = {};  ///< what the expression needs said first
};
std::vector<StatisticKind> statistic_kinds();

}  // namespace coda::testing
