#include "compiler/codegen/llvm_emitter.h"

#include <llvm/IR/Intrinsics.h>

namespace coda {

using llvm::Value;
using llvm::Intrinsic::ID;

namespace {

unsigned lanes_of(Value* value) {
  const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(value->getType());
  return vector ? vector->getNumElements() : 1;
}

const llvm::APInt* constant_of(Value* value) {
  if (const auto* scalar = llvm::dyn_cast<llvm::ConstantInt>(value)) return &scalar->getValue();
  if (const auto* vector = llvm::dyn_cast<llvm::Constant>(value); vector && value->getType()->isVectorTy()) {
    if (const auto* lane = llvm::dyn_cast_or_null<llvm::ConstantInt>(vector->getSplatValue())) return &lane->getValue();
  }
  return nullptr;
}

}  // namespace

LlvmEmitter::LlvmEmitter(llvm::IRBuilder<>& builder) : builder_(builder) {
  llvm::FastMathFlags flags;
  flags.setAllowContract(true);
  builder_.setFastMathFlags(flags);
}

void LlvmEmitter::place(llvm::ArrayRef<Value*>) {}

Value* LlvmEmitter::splat(Value* scalar, unsigned lanes) {
  if (lanes == 1 || lanes_of(scalar) == lanes) return scalar;
  if (auto* constant = llvm::dyn_cast<llvm::Constant>(scalar)) {
    return llvm::ConstantVector::getSplat(llvm::ElementCount::getFixed(lanes), constant);
  }
  Value*& made = splats_[{scalar, lanes}];
  if (!made) {
    place(scalar);
    made = builder_.CreateVectorSplat(lanes, scalar);
  }
  return made;
}

void LlvmEmitter::unify(llvm::MutableArrayRef<Value*> operands) {
  unsigned lanes = 1;
  for (Value* operand : operands) lanes = std::max(lanes, lanes_of(operand));
  for (Value*& operand : operands) operand = splat(operand, lanes);
  place(operands);
}

llvm::Type* LlvmEmitter::with_lanes_of(llvm::Type* type, Value* like) {
  const unsigned lanes = lanes_of(like);
  return lanes == 1 ? type : llvm::FixedVectorType::get(type, lanes);
}

llvm::Constant* LlvmEmitter::int_constant(Value* like, int64_t value) {
  return llvm::ConstantInt::get(like->getType(), static_cast<uint64_t>(value), true);
}
llvm::Constant* LlvmEmitter::real_constant(Value* like, double value) {
  return llvm::ConstantFP::get(with_lanes_of(builder_.getFloatTy(), like), value);
}
Value* LlvmEmitter::bits_of(Value* real) {
  return builder_.CreateBitCast(real, with_lanes_of(builder_.getInt32Ty(), real));
}
Value* LlvmEmitter::real_of(Value* bits) {
  return builder_.CreateBitCast(bits, with_lanes_of(builder_.getFloatTy(), bits));
}
Value* LlvmEmitter::fma_of(Value* a, Value* b, Value* c) {
  return builder_.CreateIntrinsic(llvm::Intrinsic::fma, a->getType(), {a, b, c});
}

template <typename Make>
Val LlvmEmitter::binary(Val a, Val b, Make make) {
  Value* operands[] = {value_of(a), value_of(b)};
  unify(operands);
  return val_of(make(operands[0], operands[1]));
}

Val LlvmEmitter::real(double value) { return val_of(llvm::ConstantFP::get(builder_.getFloatTy(), value)); }
Val LlvmEmitter::integer(int64_t value) { return val_of(builder_.getInt64(static_cast<uint64_t>(value))); }
Val LlvmEmitter::boolean(bool value) { return val_of(builder_.getInt1(value)); }

Val LlvmEmitter::add(Val a, Val b) {
  return binary(a, b, [&](Value* x, Value* y) { return builder_.CreateFAdd(x, y); });
}
Val LlvmEmitter::sub(Val a, Val b) {
  return binary(a, b, [&](Value* x, Value* y) { return builder_.CreateFSub(x, y); });
}
Val LlvmEmitter::mul(Val a, Val b) {
  return binary(a, b, [&](Value* x, Value* y) { return builder_.CreateFMul(x, y); });
}
Val LlvmEmitter::div(Val a, Val b) {
  return binary(a, b, [&](Value* x, Value* y) { return builder_.CreateFDiv(x, y); });
}
Val LlvmEmitter::fma(Val a, Val b, Val c) {
  Value* operands[] = {value_of(a), value_of(b), value_of(c)};
  unify(operands);
  return val_of(fma_of(operands[0], operands[1], operands[2]));
}
Val LlvmEmitter::neg(Val a) {
  place(value_of(a));
  return val_of(builder_.CreateFNeg(value_of(a)));
}
Val LlvmEmitter::abs(Val a) {
  place(value_of(a));
  return val_of(builder_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, value_of(a)));
}
Val LlvmEmitter::min(Val a, Val b) {
  return binary(a, b,
                [&](Value* x, Value* y) { return builder_.CreateBinaryIntrinsic(llvm::Intrinsic::minimum, x, y); });
}
Val LlvmEmitter::max(Val a, Val b) {
  return binary(a, b,
                [&](Value* x, Value* y) { return builder_.CreateBinaryIntrinsic(llvm::Intrinsic::maximum, x, y); });
}
Val LlvmEmitter::copysign(Val magnitude, Val sign) {
  return binary(magnitude, sign,
                [&](Value* x, Value* y) { return builder_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, x, y); });
}
Val LlvmEmitter::floor(Val a) {
  place(value_of(a));
  return val_of(builder_.CreateUnaryIntrinsic(llvm::Intrinsic::floor, value_of(a)));
}
Val LlvmEmitter::sqrt(Val a) {
  place(value_of(a));
  return val_of(builder_.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, value_of(a)));
}
Val LlvmEmitter::rsqrt(Val a) { return div(real(1), sqrt(a)); }
Val LlvmEmitter::rcp(Val a) { return div(real(1), a); }

Val LlvmEmitter::compare(Compare relation, Val a, Val b, NumClass operand_class) {
  struct Predicates {
    llvm::CmpInst::Predicate real, whole;
  };
  // NaN differs from everything and is neither below nor above anything.
  static constexpr Predicates kTable[] = {
      {llvm::CmpInst::FCMP_OEQ, llvm::CmpInst::ICMP_EQ},  {llvm::CmpInst::FCMP_UNE, llvm::CmpInst::ICMP_NE},
      {llvm::CmpInst::FCMP_OLT, llvm::CmpInst::ICMP_SLT}, {llvm::CmpInst::FCMP_OLE, llvm::CmpInst::ICMP_SLE},
      {llvm::CmpInst::FCMP_OGT, llvm::CmpInst::ICMP_SGT}, {llvm::CmpInst::FCMP_OGE, llvm::CmpInst::ICMP_SGE}};
  const Predicates& predicates = kTable[static_cast<int>(relation)];
  return binary(a, b, [&](Value* x, Value* y) {
    return operand_class == NumClass::Real ? builder_.CreateFCmp(predicates.real, x, y)
                                           : builder_.CreateICmp(predicates.whole, x, y);
  });
}

Val LlvmEmitter::select(Val condition, Val a, Val b) {
  Value* operands[] = {value_of(condition), value_of(a), value_of(b)};
  unify(operands);
  return val_of(builder_.CreateSelect(operands[0], operands[1], operands[2]));
}
Val LlvmEmitter::logical_and(Val a, Val b) {
  return binary(a, b, [&](Value* x, Value* y) { return builder_.CreateAnd(x, y); });
}
Val LlvmEmitter::logical_or(Val a, Val b) {
  return binary(a, b, [&](Value* x, Value* y) { return builder_.CreateOr(x, y); });
}
Val LlvmEmitter::logical_not(Val a) {
  place(value_of(a));
  return val_of(builder_.CreateNot(value_of(a)));
}

Val LlvmEmitter::int_add(Val a, Val b) {
  return binary(a, b, [&](Value* x, Value* y) { return builder_.CreateAdd(x, y); });
}
Val LlvmEmitter::int_sub(Val a, Val b) {
  return binary(a, b, [&](Value* x, Value* y) { return builder_.CreateSub(x, y); });
}
Val LlvmEmitter::int_mul(Val a, Val b) {
  return binary(a, b, [&](Value* x, Value* y) { return builder_.CreateMul(x, y); });
}

Val LlvmEmitter::int_floordiv(Val a, Val b) {
  return binary(a, b, [&](Value* x, Value* y) -> Value* {
    const llvm::APInt* divisor = constant_of(y);
    if (divisor && divisor->isStrictlyPositive() && divisor->isPowerOf2()) {
      return builder_.CreateAShr(x, int_constant(x, divisor->exactLogBase2()));
    }
    Value* quotient = builder_.CreateSDiv(x, y);
    Value* rest = builder_.CreateSub(x, builder_.CreateMul(quotient, y));
    Value* zero = int_constant(x, 0);
    Value* differs = builder_.CreateICmpSLT(builder_.CreateXor(rest, y), zero);
    Value* down = builder_.CreateAnd(builder_.CreateICmpNE(rest, zero), differs);
    return builder_.CreateSelect(down, builder_.CreateSub(quotient, int_constant(x, 1)), quotient);
  });
}

Val LlvmEmitter::int_mod(Val a, Val b) {
  return binary(a, b, [&](Value* x, Value* y) -> Value* {
    const llvm::APInt* divisor = constant_of(y);
    if (divisor && divisor->isStrictlyPositive() && divisor->isPowerOf2()) {
      return builder_.CreateAnd(x, int_constant(x, divisor->getSExtValue() - 1));
    }
    Value* rest = builder_.CreateSRem(x, y);
    Value* zero = int_constant(x, 0);
    Value* differs = builder_.CreateICmpSLT(builder_.CreateXor(rest, y), zero);
    Value* up = builder_.CreateAnd(builder_.CreateICmpNE(rest, zero), differs);
    return builder_.CreateSelect(up, builder_.CreateAdd(rest, y), rest);
  });
}

Val LlvmEmitter::int_xor(Val a, Val b) {
  return binary(a, b, [&](Value* x, Value* y) { return builder_.CreateXor(x, y); });
}

Val LlvmEmitter::int_to_real(Val a) {
  place(value_of(a));
  return val_of(builder_.CreateSIToFP(value_of(a), with_lanes_of(builder_.getFloatTy(), value_of(a))));
}
Val LlvmEmitter::real_to_int(Val a) {
  place(value_of(a));
  llvm::Type* type = with_lanes_of(builder_.getInt64Ty(), value_of(a));
  return val_of(builder_.CreateIntrinsic(llvm::Intrinsic::fptosi_sat, {type, value_of(a)->getType()}, {value_of(a)}));
}
Val LlvmEmitter::bool_to_real(Val a) { return select(a, real(1), real(0)); }
Val LlvmEmitter::bool_to_int(Val a) {
  place(value_of(a));
  return val_of(builder_.CreateZExt(value_of(a), with_lanes_of(builder_.getInt64Ty(), value_of(a))));
}

}  // namespace coda
