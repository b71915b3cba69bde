// What an op may ask of a code generator. LLVM-free: values are opaque handles; one implementation lives in
// compiler/codegen. Real values are f32, Int i64, Bool i1.
#pragma once

#include <cstdint>

#include "runtime/format/dtype.h"

namespace coda {

/// A handle to an SSA value of the generator that made it.
struct Val {
  void* handle = nullptr;
  explicit operator bool() const { return handle != nullptr; }
};

enum class Compare : uint8_t { Eq, Ne, Lt, Le, Gt, Ge };

class Emitter {
 public:
  virtual ~Emitter() = default;

  /// Whether elementary functions may be off by 2^-11 of their value, and take subnormal numbers as zero: nothing of 16
  /// bits or fewer shows it. One answer for a whole kernel.
  virtual bool is_approximate() const { return false; }

  virtual Val real(double value) = 0;
  virtual Val integer(int64_t value) = 0;
  virtual Val boolean(bool value) = 0;

  // f32 arithmetic, IEEE: no reassociation; contraction into fma is allowed.
  virtual Val add(Val a, Val b) = 0;
  virtual Val sub(Val a, Val b) = 0;
  virtual Val mul(Val a, Val b) = 0;
  virtual Val div(Val a, Val b) = 0;  ///< correctly rounded
  virtual Val fma(Val a, Val b, Val c) = 0;
  virtual Val neg(Val a) = 0;
  virtual Val abs(Val a) = 0;
  virtual Val min(Val a, Val b) = 0;  ///< NaN if either is
  virtual Val max(Val a, Val b) = 0;  ///< NaN if either is
  virtual Val copysign(Val magnitude, Val sign) = 0;
  virtual Val floor(Val a) = 0;
  virtual Val sqrt(Val a) = 0;  ///< correctly rounded
  // Within 2 ulp (GPU: the special-function unit, with a step of Newton where it is worse).
  virtual Val rsqrt(Val a) = 0;
  virtual Val rcp(Val a) = 0;
  virtual Val exp2(Val a) = 0;  ///< exact for whole a in [-126, 127]
  virtual Val log2(Val a) = 0;
  /// exp2 and rcp where subnormal arguments and results may be taken as zero: one instruction on a GPU instead of four.
  virtual Val exp2_normal(Val a) { return exp2(a); }
  virtual Val rcp_normal(Val a) { return rcp(a); }
  virtual Val sin(Val a) = 0;
  virtual Val cos(Val a) = 0;
  /// tanh to about 2^-11 relative: one instruction on a GPU. Right where the result is rounded to 16 bits.
  virtual Val tanh_fast(Val a) = 0;

  virtual Val compare(Compare relation, Val a, Val b, NumClass operand_class) = 0;
  virtual Val select(Val condition, Val a, Val b) = 0;
  virtual Val logical_and(Val a, Val b) = 0;
  virtual Val logical_or(Val a, Val b) = 0;
  virtual Val logical_not(Val a) = 0;

  virtual Val int_add(Val a, Val b) = 0;
  virtual Val int_sub(Val a, Val b) = 0;
  virtual Val int_mul(Val a, Val b) = 0;
  virtual Val int_floordiv(Val a, Val b) = 0;
  virtual Val int_mod(Val a, Val b) = 0;  ///< sign of the divisor, as floor division wants
  virtual Val int_xor(Val a, Val b) = 0;
  virtual Val int_to_real(Val a) = 0;
  virtual Val real_to_int(Val a) = 0;  ///< toward zero, saturating, NaN to 0
  virtual Val bool_to_real(Val a) = 0;
  virtual Val bool_to_int(Val a) = 0;

  /// The f32 value as it reads back after being stored as `dtype` (nearest, ties to even).
  virtual Val round_to(Val a, DType dtype) = 0;
};

}  // namespace coda
