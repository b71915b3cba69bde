// Stored forms of every element type by integer arithmetic: exact, to nearest, ties to even, independent of the
// target's conversion instructions (some of which flush subnormal numbers).
#include <cmath>

#include "compiler/codegen/llvm_emitter.h"

namespace coda {

using llvm::Value;

namespace {

/// A binary float narrower than f32 with subnormal numbers (see dtype.cpp for what the top codes mean).
struct Narrow {
  int bits, mantissa, bias;
  bool has_infinity;

  int lowest_exponent() const { return 1 - bias; }
  int dropped() const { return 23 - mantissa; }
  int64_t exponent_mask() const { return ((int64_t{1} << (bits - 1 - mantissa)) - 1) << mantissa; }
  /// Beyond the largest finite value: infinity, or the topmost code where there is none.
  int64_t overflow_code() const { return has_infinity ? exponent_mask() : nan_code(); }
  int64_t nan_code() const { return (int64_t{1} << (bits - 1)) - 1; }
};

Narrow narrow_of(DType dtype) {
  const DTypeInfo& type = info(dtype);
  return {type.bits, type.mantissa_bits, (1 << (type.exponent_bits - 1)) - 1,
          dtype != DType::E4M3 && dtype != DType::E2M1};
}

}  // namespace

llvm::Type* LlvmEmitter::storage_type(DType dtype) {
  if (dtype == DType::F32) return builder_.getFloatTy();
  return builder_.getIntNTy(std::max(info(dtype).bits, 8));
}

Val LlvmEmitter::round_to(Val a, DType dtype) {
  if (dtype == DType::F32) return a;
  return val_of(decode(encode(value_of(a), dtype), dtype));
}

Value* LlvmEmitter::encode(Value* value, DType dtype) {
  if (dtype == DType::F32) return value;
  place(value);
  llvm::Type* type = with_lanes_of(storage_type(dtype), value);
  if (info(dtype).num_class == NumClass::Bool) return builder_.CreateZExt(value, type);
  if (info(dtype).num_class == NumClass::Int) return builder_.CreateTrunc(value, type);

  Value* bits = bits_of(value);
  Value* magnitude = builder_.CreateAnd(bits, int_constant(bits, 0x7FFFFFFF));
  const auto constant = [&](int64_t v) { return int_constant(bits, v); };
  Value* is_nan = builder_.CreateICmpUGT(magnitude, constant(0x7F800000));
  if (dtype == DType::UE8M0) return builder_.CreateTrunc(encode_power(bits), type);

  const Narrow narrow = narrow_of(dtype);
  const int dropped = narrow.dropped();
  // Round the bits where the mantissa ends; a carry runs into the exponent as it should.
  Value* odd = builder_.CreateAnd(builder_.CreateLShr(magnitude, constant(dropped)), constant(1));
  Value* rounded = builder_.CreateAdd(magnitude, constant((int64_t{1} << (dropped - 1)) - 1));
  rounded = builder_.CreateLShr(builder_.CreateAdd(rounded, odd), constant(dropped));
  Value* code = builder_.CreateSub(rounded, constant(int64_t{127 - narrow.bias} << narrow.mantissa));
  // Subnormal results: adding 2^23 units of the last place leaves the rounded number of units in the low bits.
  if (dtype != DType::BF16) {
    const double shift = std::ldexp(1.0, narrow.lowest_exponent() - narrow.mantissa + 23);
    Value* shifted = bits_of(builder_.CreateFAdd(real_of(magnitude), real_constant(bits, shift)));
    Value* units = builder_.CreateSub(shifted, bits_of(real_constant(bits, shift)));
    Value* is_small = builder_.CreateICmpULT(magnitude, constant(int64_t{127 + narrow.lowest_exponent()} << 23));
    code = builder_.CreateSelect(is_small, units, code);
    Value* is_over = builder_.CreateICmpSGE(code, constant(narrow.overflow_code()));
    code = builder_.CreateSelect(is_over, constant(narrow.overflow_code()), code);
  }
  Value* sign = builder_.CreateLShr(bits, constant(31));
  code = builder_.CreateOr(code, builder_.CreateShl(sign, constant(narrow.bits - 1)));
  code = builder_.CreateSelect(is_nan, constant(narrow.nan_code()), code);
  return builder_.CreateTrunc(code, type);
}

/// ue8m0: nearest power of two, halves to the even code; 255 for NaN, what is negative and what overflows.
Value* LlvmEmitter::encode_power(Value* bits) {
  const auto constant = [&](int64_t v) { return int_constant(bits, v); };
  Value* odd = builder_.CreateAnd(builder_.CreateLShr(bits, constant(23)), constant(1));
  Value* rounded = builder_.CreateAdd(builder_.CreateAdd(bits, constant(0x3FFFFF)), odd);
  Value* code = builder_.CreateLShr(rounded, constant(23));
  // Code 0 is 2^-127, subnormal in f32: halfway to code 1 lies 1.5 * 2^-127.
  Value* above_half = builder_.CreateICmpUGT(bits, constant(0x600000));
  Value* is_least = builder_.CreateICmpULT(bits, constant(0x800000));
  code = builder_.CreateSelect(is_least, builder_.CreateZExt(above_half, bits->getType()), code);
  Value* is_over = builder_.CreateICmpUGT(bits, constant(0x7F400000));  // above 1.5 * 2^127, and negative
  code = builder_.CreateSelect(is_over, constant(255), code);
  Value* is_zero = builder_.CreateICmpEQ(builder_.CreateShl(bits, constant(1)), constant(0));
  return builder_.CreateSelect(is_zero, constant(0), code);
}

Value* LlvmEmitter::decode_power(Value* code) {
  const auto constant = [&](int64_t v) { return int_constant(code, v); };
  Value* bits = builder_.CreateShl(code, constant(23));
  bits = builder_.CreateSelect(builder_.CreateICmpEQ(code, constant(0)), constant(0x400000), bits);
  Value* is_nan = builder_.CreateICmpEQ(code, constant(255));
  return real_of(builder_.CreateSelect(is_nan, constant(0x7FC00000), bits));
}

Value* LlvmEmitter::decode(Value* stored, DType dtype) {
  if (dtype == DType::F32) return stored;
  place(stored);
  if (info(dtype).num_class == NumClass::Bool) return builder_.CreateICmpNE(stored, int_constant(stored, 0));
  if (info(dtype).num_class == NumClass::Int) {
    llvm::Type* type = with_lanes_of(builder_.getInt64Ty(), stored);
    return dtype == DType::U8 ? builder_.CreateZExt(stored, type) : builder_.CreateSExt(stored, type);
  }
  Value* code = builder_.CreateZExt(stored, with_lanes_of(builder_.getInt32Ty(), stored));
  const auto constant = [&](int64_t v) { return int_constant(code, v); };
  if (dtype == DType::BF16) return real_of(builder_.CreateShl(code, constant(16)));
  if (dtype == DType::UE8M0) return decode_power(code);

  const Narrow narrow = narrow_of(dtype);
  const int64_t sign_bit = int64_t{1} << (narrow.bits - 1);
  Value* magnitude = builder_.CreateAnd(code, constant(sign_bit - 1));
  // Read with f32's bias, then scaled: exact for subnormal numbers too.
  Value* raw = real_of(builder_.CreateShl(magnitude, constant(narrow.dropped())));
  Value* bits = bits_of(builder_.CreateFMul(raw, real_constant(code, std::ldexp(1.0, 127 - narrow.bias))));
  if (dtype != DType::E2M1) {
    const int64_t first = narrow.has_infinity ? narrow.exponent_mask() : narrow.nan_code();
    Value* is_special = builder_.CreateICmpUGE(magnitude, constant(first));
    Value* special = builder_.CreateShl(magnitude, constant(narrow.dropped()));
    special = builder_.CreateOr(special, constant(narrow.has_infinity ? 0x7F800000 : 0x7FC00000));
    bits = builder_.CreateSelect(is_special, special, bits);
  }
  Value* sign = builder_.CreateShl(builder_.CreateAnd(code, constant(sign_bit)), constant(32 - narrow.bits));
  return real_of(builder_.CreateOr(bits, sign));
}

}  // namespace coda
