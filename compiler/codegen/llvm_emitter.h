// The Emitter over LLVM's IRBuilder. A value is a scalar or a vector of lanes; operations between them splat the
// scalar. Targets derive from it for the functions their hardware has, and for where instructions go.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/IR/IRBuilder.h>

#include "compiler/ops/emitter.h"

namespace coda {

inline llvm::Value* value_of(Val value) { return static_cast<llvm::Value*>(value.handle); }
inline Val val_of(llvm::Value* value) { return Val{value}; }

class LlvmEmitter : public Emitter {
 public:
  /// Sets the builder's fast-math flags to `contract`, nothing else.
  explicit LlvmEmitter(llvm::IRBuilder<>& builder);
  llvm::IRBuilder<>& builder() { return builder_; }

  Val real(double value) override;
  Val integer(int64_t value) override;
  Val boolean(bool value) override;

  Val add(Val a, Val b) override;
  Val sub(Val a, Val b) override;
  Val mul(Val a, Val b) override;
  Val div(Val a, Val b) override;
  Val fma(Val a, Val b, Val c) override;
  Val neg(Val a) override;
  Val abs(Val a) override;
  Val min(Val a, Val b) override;
  Val max(Val a, Val b) override;
  Val copysign(Val magnitude, Val sign) override;
  Val floor(Val a) override;
  Val sqrt(Val a) override;
  Val rsqrt(Val a) override;
  Val rcp(Val a) override;

  Val compare(Compare relation, Val a, Val b, NumClass operand_class) override;
  Val select(Val condition, Val a, Val b) override;
  Val logical_and(Val a, Val b) override;
  Val logical_or(Val a, Val b) override;
  Val logical_not(Val a) override;

  Val int_add(Val a, Val b) override;
  Val int_sub(Val a, Val b) override;
  Val int_mul(Val a, Val b) override;
  Val int_floordiv(Val a, Val b) override;
  Val int_mod(Val a, Val b) override;
  Val int_xor(Val a, Val b) override;
  Val int_to_real(Val a) override;
  Val real_to_int(Val a) override;
  Val bool_to_real(Val a) override;
  Val bool_to_int(Val a) override;
  Val round_to(Val a, DType dtype) override;

  /// The type an element of `dtype` has in memory, an integer except for f32 (an E2M1 takes a whole i8 here).
  llvm::Type* storage_type(DType dtype);
  /// A value of the number class of `dtype` as its stored bits; Real is rounded, Int truncated to the width (bring it
  /// into range with EpilogueEvaluator::to_dtype). `decode` is the exact way back.
  virtual llvm::Value* encode(llvm::Value* value, DType dtype);
  virtual llvm::Value* decode(llvm::Value* stored, DType dtype);

 protected:
  /// Called before instructions that use `operands` are made: a target may move the builder.
  virtual void place(llvm::ArrayRef<llvm::Value*> operands);
  llvm::Value* splat(llvm::Value* scalar, unsigned lanes);
  /// Brings operands to one lane count and places the builder.
  void unify(llvm::MutableArrayRef<llvm::Value*> operands);
  /// `type` with as many lanes as `like` has.
  static llvm::Type* with_lanes_of(llvm::Type* type, llvm::Value* like);
  llvm::Constant* int_constant(llvm::Value* like, int64_t value);
  llvm::Constant* real_constant(llvm::Value* like, double value);
  llvm::Value* bits_of(llvm::Value* real);  ///< i32
  llvm::Value* real_of(llvm::Value* bits);  ///< f32
  llvm::Value* fma_of(llvm::Value* a, llvm::Value* b, llvm::Value* c);

  llvm::IRBuilder<>& builder_;

 private:
  template <typename Make>
  Val binary(Val a, Val b, Make make);
  llvm::Value* encode_power(llvm::Value* bits);
  llvm::Value* decode_power(llvm::Value* code);

  llvm::DenseMap<std::pair<llvm::Value*, unsigned>, llvm::Value*> splats_;
};

}  // namespace coda
