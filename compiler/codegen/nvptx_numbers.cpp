#include "compiler/codegen/nvptx_numbers.h"

#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/IntrinsicsNVPTX.h>

#include <cstdint>

#include "compiler/codegen/llvm_emitter.h"

namespace coda {

using llvm::Value;

class NvptxNumbers::Impl final : public LlvmEmitter {
 public:
  Impl(llvm::IRBuilder<>& builder, bool approximate) : LlvmEmitter(builder), approximate_(approximate) {}

  bool is_approximate() const override { return approximate_; }
  void approximate(bool wanted) { approximate_ = wanted; }
  Val div(Val a, Val b) override { return approximate_ ? unit2("div.full.f32", a, b) : LlvmEmitter::div(a, b); }
  Val sqrt(Val a) override { return approximate_ ? unit("sqrt.approx.f32", a) : LlvmEmitter::sqrt(a); }
  Val rsqrt(Val a) override { return unit("rsqrt.approx.f32", a); }
  Val rcp(Val a) override { return unit("rcp.approx.f32", a); }
  Val exp2(Val a) override { return unit("ex2.approx.f32", a); }
  Val log2(Val a) override { return unit("lg2.approx.f32", a); }
  Val exp2_normal(Val a) override { return unit("ex2.approx.ftz.f32", a); }
  Val rcp_normal(Val a) override { return unit("rcp.approx.ftz.f32", a); }
  Val tanh_fast(Val a) override { return unit("tanh.approx.f32", a); }
  Val sin(Val a) override { return circular(a, 0); }
  Val cos(Val a) override { return circular(a, 1); }

  // Products of 32-bit words (Ints in [0, 2^32)), of which halves are taken: in 32 bits, for the assembler does not see
  // that the upper halves of 64-bit factors are 0.
  Val int_mul(Val a, Val b) override {
    const Val product = LlvmEmitter::int_mul(a, b);
    if (is_word(a) && is_word(b) && !llvm::isa<llvm::Constant>(value_of(product))) {
      Value* high = builder_.CreateIntrinsic(llvm::Intrinsic::nvvm_mulhi_ui, {}, {word(a), word(b)});
      halves_[value_of(product)] = {builder_.CreateMul(word(a), word(b)), high};
    }
    return product;
  }
  Val int_floordiv(Val a, Val b) override {
    const Val quotient = LlvmEmitter::int_floordiv(a, b);
    const auto product = halves_.find(value_of(a));
    if (is_two_to_32(b) && product != halves_.end() && product->second.second) {
      halves_[value_of(quotient)] = {product->second.second, nullptr};
    }
    return quotient;
  }
  Val int_mod(Val a, Val b) override {
    if (!is_two_to_32(b)) return LlvmEmitter::int_mod(a, b);
    const auto known = halves_.find(value_of(a));
    return widened(known != halves_.end() ? known->second.first : word(a));
  }
  Val int_xor(Val a, Val b) override {
    return is_word(a) && is_word(b) ? widened(builder_.CreateXor(word(a), word(b))) : LlvmEmitter::int_xor(a, b);
  }

  /// Gathers compare an index with every column: x == base + k for many small k. In 32 bits, with what does not depend
  /// on k shared by all, that is one instruction each instead of three.
  Val compare(Compare relation, Val a, Val b, NumClass operand_class) override {
    if (operand_class == NumClass::Int && (relation == Compare::Eq || relation == Compare::Ne)) {
      Value* narrow = compare_distance(relation, value_of(a), value_of(b));
      if (!narrow) narrow = compare_distance(relation, value_of(b), value_of(a));
      if (narrow) return val_of(narrow);
    }
    return LlvmEmitter::compare(relation, a, b, operand_class);
  }

  Value* encode(Value* value, DType dtype) override {
    llvm::Type* type = float_type(dtype);
    if (const Float8* format = float8(dtype)) return encode8(value, *format);
    if (!type) return LlvmEmitter::encode(value, dtype);
    return builder_.CreateBitCast(builder_.CreateFPTrunc(value, type), builder_.getInt16Ty());
  }
  Value* decode(Value* stored, DType dtype) override {
    llvm::Type* type = float_type(dtype);
    if (!type) return LlvmEmitter::decode(stored, dtype);
    if (dtype == DType::BF16) {
      Value* word = builder_.CreateZExt(stored, builder_.getInt32Ty());
      return builder_.CreateBitCast(builder_.CreateShl(word, 16), builder_.getFloatTy());
    }
    return builder_.CreateFPExt(builder_.CreateBitCast(stored, type), builder_.getFloatTy());
  }
  Value* encode_pair(Value* low, Value* high, DType dtype) {
    Value* pair = llvm::PoisonValue::get(llvm::FixedVectorType::get(builder_.getFloatTy(), 2));
    pair = builder_.CreateInsertElement(pair, low, uint64_t{0});
    pair = builder_.CreateInsertElement(pair, high, uint64_t{1});
    pair = builder_.CreateFPTrunc(pair, llvm::FixedVectorType::get(float_type(dtype), 2));
    return builder_.CreateBitCast(pair, builder_.getInt32Ty());
  }
  llvm::IRBuilder<>& ir() { return builder_; }

 private:
  /// The 16-bit float types have conversion instructions; null for the others.
  llvm::Type* float_type(DType dtype) {
    if (dtype == DType::BF16) return builder_.getBFloatTy();
    return dtype == DType::F16 ? builder_.getHalfTy() : nullptr;
  }

  static bool is_two_to_32(Val a) {
    const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(value_of(a));
    return constant && constant->getSExtValue() == int64_t{1} << 32;
  }
  /// Known to lie in [0, 2^32).
  static bool is_word(Val a) {
    if (const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(value_of(a)))
      return llvm::isUInt<32>(constant->getSExtValue());
    const auto* widened = llvm::dyn_cast<llvm::ZExtInst>(value_of(a));
    return widened && widened->getSrcTy()->isIntegerTy(32);
  }
  Value* word(Val a) {
    if (auto* widened = llvm::dyn_cast<llvm::ZExtInst>(value_of(a)); widened && is_word(a))
      return widened->getOperand(0);
    return builder_.CreateTrunc(value_of(a), builder_.getInt32Ty());
  }
  Val widened(Value* word) { return val_of(builder_.CreateZExt(word, builder_.getInt64Ty())); }

  /// An 8-bit float that has a conversion instruction, which gives the largest finite number for what overflows.
  struct Float8 {
    DType dtype;
    const char* instruction;
    float greatest;  ///< magnitude that does not round beyond the finite ones
    uint32_t sign_kept, overflow;
  };
  static const Float8* float8(DType dtype) {
    static constexpr Float8 kFormats[] = {
        {DType::E4M3, "cvt.rn.satfinite.e4m3x2.f32 $0, 0f00000000, $1;", 464, 0xFF, 0x7F},  // a tie, to even
        {DType::E5M2, "cvt.rn.satfinite.e5m2x2.f32 $0, 0f00000000, $1;", 0x1.dffffep15F, 0x80, 0x7C}};
    for (const Float8& format : kFormats) {
      if (format.dtype == dtype) return &format;
    }
    return nullptr;
  }
  Value* encode8(Value* value, const Float8& format) {
    auto* type = llvm::FunctionType::get(builder_.getInt16Ty(), {builder_.getFloatTy()}, false);
    llvm::CallInst* call = builder_.CreateCall(llvm::InlineAsm::get(type, format.instruction, "=h,f", false), {value});
    call->setDoesNotAccessMemory();
    call->setDoesNotThrow();
    Value* code = builder_.CreateZExt(call, builder_.getInt32Ty());
    Value* beyond = builder_.CreateFCmpOGT(value_of(abs(val_of(value))),
                                           llvm::ConstantFP::get(builder_.getFloatTy(), format.greatest));
    Value* overflow = builder_.CreateOr(builder_.CreateAnd(code, format.sign_kept), format.overflow);
    code = builder_.CreateSelect(beyond, overflow, code);
    code = builder_.CreateSelect(builder_.CreateFCmpUNO(value, value), builder_.getInt32(0x7F), code);
    return builder_.CreateTrunc(code, builder_.getInt8Ty());
  }

  /// x - base against k, where `sum` is base + k and k fits 31 bits; null where it is no such sum.
  Value* compare_distance(Compare relation, Value* x, Value* sum) {
    auto* add = llvm::dyn_cast<llvm::BinaryOperator>(sum);
    if (!add || add->getOpcode() != llvm::Instruction::Add) return nullptr;
    auto* k = llvm::dyn_cast<llvm::ConstantInt>(add->getOperand(1));
    if (!k || k->isNegative() || k->getZExtValue() > INT32_MAX) return nullptr;
    Value* distance = builder_.CreateSub(x, add->getOperand(0));
    Value* is_near = builder_.CreateICmpULE(distance, builder_.getInt64(INT32_MAX));
    Value* near = builder_.CreateTrunc(distance, builder_.getInt32Ty());
    near = builder_.CreateSelect(is_near, near, builder_.getInt32(-1));
    const auto predicate = relation == Compare::Eq ? llvm::CmpInst::ICMP_EQ : llvm::CmpInst::ICMP_NE;
    return builder_.CreateICmp(predicate, near, builder_.getInt32(static_cast<uint32_t>(k->getZExtValue())));
  }

  /// One instruction of the special-function unit.
  Val unit(const char* instruction, Val a) { return pure(instruction, " $0, $1;", "=f,f", {value_of(a)}); }
  Val unit2(const char* instruction, Val a, Val b) {
    return pure(instruction, " $0, $1, $2;", "=f,f,f", {value_of(a), value_of(b)});
  }
  Val pure(const std::string& instruction, const char* operands, const char* constraints,
           llvm::ArrayRef<Value*> arguments) {
    const llvm::SmallVector<llvm::Type*, 2> types(arguments.size(), builder_.getFloatTy());
    auto* type = llvm::FunctionType::get(builder_.getFloatTy(), types, false);
    llvm::CallInst* call =
        builder_.CreateCall(llvm::InlineAsm::get(type, instruction + operands, constraints, false), arguments);
    call->setDoesNotAccessMemory();
    call->setDoesNotThrow();
    return val_of(call);
  }

  bool approximate_;
  llvm::DenseMap<Value*, std::pair<Value*, Value*>> halves_;  ///< lower (what is left modulo 2^32) and upper

  /// sin (`shift` 0) or cos (1): x = n*pi/2 + r, with pi/2 in three parts, then the series of the quadrant.
  Val circular(Val x, int shift) {
    const Val n = floor(fma(x, real(0.63661977236758134308), real(0.5)));
    Val r = fma(n, real(-1.57079601287841796875), x);
    r = fma(n, real(-3.1391647326017846353e-7), r);
    r = fma(n, real(-5.3903025299577647655e-15), r);
    const Val r2 = mul(r, r);
    Val s = fma(r2, real(-1.9515295891e-4), real(8.3321608736e-3));
    s = fma(s, r2, real(-1.6666654611e-1));
    s = fma(mul(s, r2), r, r);
    Val c = fma(r2, real(2.443315711809948e-5), real(-1.388731625493765e-3));
    c = fma(c, r2, real(4.166664568298827e-2));
    c = fma(mul(c, r2), r2, fma(r2, real(-0.5), real(1)));
    const Val quadrant = int_add(real_to_int(n), integer(shift));
    const Val odd = compare(Compare::Ne, int_mod(quadrant, integer(2)), integer(0), NumClass::Int);
    const Val negative = compare(Compare::Ge, int_mod(quadrant, integer(4)), integer(2), NumClass::Int);
    const Val value = select(odd, c, s);
    return select(negative, neg(value), value);
  }
};

NvptxNumbers::NvptxNumbers(NvptxBuilder& builder, bool approximate)
    : b_(builder), impl_(std::make_unique<Impl>(*static_cast<llvm::IRBuilder<>*>(builder.ir_builder()), approximate)) {}
NvptxNumbers::~NvptxNumbers() = default;

void NvptxNumbers::approximate(bool wanted) { impl_->approximate(wanted); }

Emitter& NvptxNumbers::emitter() { return *impl_; }

Val NvptxNumbers::encode(Val value, DType dtype) {
  auto& ir = impl_->ir();
  Value* stored = impl_->encode(value_of(value), dtype);
  if (dtype == DType::F32) return val_of(ir.CreateBitCast(stored, ir.getInt32Ty()));
  if (info(dtype).bits == 64) return val_of(stored);
  return val_of(ir.CreateZExt(stored, ir.getInt32Ty()));
}

Val NvptxNumbers::encode_pair(Val low, Val high, DType dtype) {
  return val_of(impl_->encode_pair(value_of(low), value_of(high), dtype));
}

Val NvptxNumbers::decode(Val stored, DType dtype) {
  auto& ir = impl_->ir();
  if (dtype == DType::F32) return val_of(ir.CreateBitCast(value_of(stored), ir.getFloatTy()));
  Value* narrow = ir.CreateZExtOrTrunc(value_of(stored), impl_->storage_type(dtype));
  return val_of(impl_->decode(narrow, dtype));
}

std::vector<Val> NvptxNumbers::encode_words(std::span<const Val> values, DType dtype) {
  std::vector<Val> words;
  const int bytes = info(dtype).bits / 8;
  if (dtype == DType::BF16 || dtype == DType::F16) {
    for (size_t i = 0; i < values.size(); i += 2) words.push_back(encode_pair(values[i], values[i + 1], dtype));
    return words;
  }
  for (size_t i = 0; i < values.size(); ++i) {
    Val stored = encode(values[i], dtype);
    if (bytes == 8) {
      words.push_back(b_.convert(stored, Ty::I32));
      words.push_back(b_.convert(b_.op(IntOp::Lshr, stored, 32), Ty::I32));
      continue;
    }
    const int64_t shift = static_cast<int64_t>(i) * bytes % 4 * 8;
    if (shift == 0) {
      words.push_back(stored);
    } else {
      words.back() = b_.op(IntOp::Or, words.back(), b_.op(IntOp::Shl, stored, shift));
    }
  }
  return words;
}

Val NvptxNumbers::decode_from(std::span<const Val> words, int index, DType dtype) {
  const int bytes = info(dtype).bits / 8;
  const auto word = static_cast<size_t>(index * bytes / 4);
  if (bytes == 8) {
    Val low = b_.convert(words[word], Ty::I64), high = b_.convert(words[word + 1], Ty::I64);
    return decode(b_.op(IntOp::Or, low, b_.op(IntOp::Shl, high, 32)), dtype);
  }
  const int shift = index * bytes % 4 * 8;
  return decode(shift == 0 ? words[word] : b_.op(IntOp::Lshr, words[word], shift), dtype);
}

}  // namespace coda
