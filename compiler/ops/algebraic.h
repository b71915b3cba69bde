// What algebra may use of ops and reductions; everything else about them is opaque to laws. One record for each op that
// has any, kept beside the ops' own records so that laws can learn something new without touching code generation. Each
// claim is tested on random arguments (tests/plan), so that no law ever asks for an op's name.
#pragma once

#include <cstdint>
#include <string_view>

#include "compiler/ops/op.h"

namespace coda {

/// What is known of a result's sign from the signs of the arguments in `signed_by`.
enum class SignRule : uint8_t {
  Unknown,
  NonNegative,  ///< never below 0
  Positive,     ///< above 0
  LikeAll,      ///< not negative (positive) if all those arguments are
  LikeAny,      ///< not negative (positive) if one of them is
};

struct Algebraic {
  std::string_view name;       ///< of the op or reduction
  double slope = 0;            ///< f(x) = slope * x, where not 0
  std::string_view inverse;    ///< f(x, y) = x * inverse(y)
  std::string_view logarithm;  ///< f(x) / u = f(x - logarithm(u)) for u > 0
  uint8_t scaled = 0;          ///< bit i: argument i takes part in the scaling; of a reduction, 1
  int8_t degree = 0;           ///< f(.., r*x_i, ..) = r^degree * f(.., x_i, ..) for r > 0 and all i in `scaled`
  SignRule sign = SignRule::Unknown;
  uint8_t signed_by = 0;  ///< bit i: argument i counts for `sign`; of a reduction, its elements do
};

/// An empty record for what nothing is known of.
const Algebraic& algebraic(const Op& op);
const Algebraic& algebraic(const Reduction& reduction);
/// The op that gives 1/x: the one that quotients are written with.
const Op* reciprocal_op();

/// The sum of (x - mean)^2, in one pass and without cancellation, as a reduction of states (count, mean, squares): what
/// the prelude's `moments` reduces by. It lifts (1, x, 0).
inline constexpr std::string_view kCentredSquares =
    "{0;0;0|sum(1*0,1*3);const(0,Int);gt(6,7);recip(6);mul(3,9);select(8,10,7);sum(-1*1,1*4);mul(11,12);sum(1*1,1*13);"
    "sum(1*2,1*5);mul(0,11,12,12);sum(1*15,1*16)|6;14;17|2}";

}  // namespace coda
