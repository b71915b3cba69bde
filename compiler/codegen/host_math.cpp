// f32 functions of the host, inline and branch-free so that they work on vectors. The coefficients are minimax fits
// (Remez); each function is within 2 ulp of the exact one over all of f32, subnormal numbers included.
#include <cmath>

#include "compiler/codegen/host_emitter.h"

namespace coda {

using llvm::Value;

namespace {

/// Adding it to |x| < 2^22 leaves round-to-nearest(x) in the low bits of the sum.
constexpr double kRoundShift = 12582912;            // 1.5 * 2^23
constexpr double kRoundShift64 = 6755399441055744;  // 1.5 * 2^52

/// floor(frac(2^e / (2 pi)) * 2^64) for e = 0..127: the position of 2^e on the circle, as a fraction of a turn.
llvm::Constant* turn_table(llvm::IRBuilder<>& builder) {
  // 1/(2 pi) in binary, 64 bits a word, enough for the largest exponent and 64 bits behind it.
  static constexpr uint64_t kInverseTwoPi[] = {0x28BE60DB9391054A, 0x7F09D5F47D4D3770, 0x36D8A5664F10E410,
                                               0x7F9458EAF7AEF158};
  std::vector<uint64_t> turns;
  for (int e = 0; e < 128; ++e) {
    const int word = e / 64, shift = e % 64;
    uint64_t bits = kInverseTwoPi[word] << shift;
    if (shift > 0) bits |= kInverseTwoPi[word + 1] >> (64 - shift);
    turns.push_back(bits);
  }
  return llvm::ConstantDataArray::get(builder.getContext(), turns);
}

}  // namespace

Value* HostEmitter::polynomial(Value* x, llvm::ArrayRef<double> coefficients) {
  Value* value = real_constant(x, coefficients.back());
  for (size_t i = coefficients.size() - 1; i-- > 0;) value = fma_of(value, x, real_constant(x, coefficients[i]));
  return value;
}

Val HostEmitter::exp2(Val a) {
  Value* x = coda::value_of(a);
  place(x);
  // Beyond the ends the result is 0 or infinity anyway; NaN passes both tests.
  const auto real = [&](double v) { return real_constant(x, v); };
  Value* clamped = builder_.CreateSelect(builder_.CreateFCmpOLT(x, real(-152)), real(-152), x);
  clamped = builder_.CreateSelect(builder_.CreateFCmpOGT(clamped, real(129)), real(129), clamped);
  Value* shifted = builder_.CreateFAdd(clamped, real(kRoundShift));
  Value* fraction = builder_.CreateFSub(clamped, builder_.CreateFSub(shifted, real(kRoundShift)));
  Value* power = polynomial(fraction, {1, 0.693147188029, 0.240226510842, 0.0555035710552, 0.00961803077052,
                                       0.00133908668473, 0.00015469735205});
  // Two factors, as the power alone may be subnormal.
  Value* exponent = builder_.CreateSub(bits_of(shifted), bits_of(real(kRoundShift)));
  const auto whole = [&](int64_t v) { return int_constant(exponent, v); };
  Value* half = builder_.CreateAShr(exponent, whole(1));
  const auto scale = [&](Value* e) {
    return real_of(builder_.CreateShl(builder_.CreateAdd(e, whole(127)), whole(23)));
  };
  power = builder_.CreateFMul(power, scale(half));
  return val_of(builder_.CreateFMul(power, scale(builder_.CreateSub(exponent, half))));
}

Val HostEmitter::log2(Val a) {
  Value* x = coda::value_of(a);
  place(x);
  const auto real = [&](double v) { return real_constant(x, v); };
  constexpr double kLeast = 0x1p-126, kInfinity = std::numeric_limits<double>::infinity();
  // 2^23 brings subnormal numbers among the others.
  Value* is_small = builder_.CreateFCmpOLT(x, real(kLeast));
  Value* normal = builder_.CreateSelect(is_small, builder_.CreateFMul(x, real(0x1p23)), x);
  Value* bits = bits_of(normal);
  const auto whole = [&](int64_t v) { return int_constant(bits, v); };
  // The exponent counts from sqrt(1/2), so that the rest m is in [sqrt(1/2), sqrt(2)).
  constexpr int64_t kRootHalf = 0x3F3504F3;
  Value* from_root = builder_.CreateSub(bits, whole(kRootHalf));
  Value* exponent = builder_.CreateAShr(from_root, whole(23));
  Value* rest_bits = builder_.CreateAdd(builder_.CreateAnd(from_root, whole(0x7FFFFF)), whole(kRootHalf));
  Value* f = builder_.CreateFSub(real_of(rest_bits), real(1));
  exponent = builder_.CreateSub(exponent, builder_.CreateSelect(is_small, whole(23), whole(0)));
  Value* e = builder_.CreateSIToFP(exponent, x->getType());
  // log2(1 + f) = f*log2(e) + f^2 * Q(f), the constant in two parts.
  Value* q = polynomial(f, {-0.721347516889, 0.480898022051, -0.36067413103, 0.288571035548, -0.24046392204,
                            0.205117783723, -0.179000067943, 0.17169446028, -0.168449690364, 0.0970220285622});
  constexpr double kLog2e = 1.44269504088896340736, kHead = static_cast<float>(kLog2e), kTail = kLog2e - kHead;
  Value* low = fma_of(q, builder_.CreateFMul(f, f), builder_.CreateFMul(f, real(kTail)));
  // e + f*head + low: rounded where e is 0 only once more.
  Value* sum = builder_.CreateFAdd(e, fma_of(f, real(kHead), low));
  Value* is_finite = builder_.CreateFCmpOLT(x, real(kInfinity));
  sum = builder_.CreateSelect(is_finite, sum, x);  // infinity, NaN
  sum = builder_.CreateSelect(builder_.CreateFCmpOEQ(x, real(0)), real(-kInfinity), sum);
  return val_of(builder_.CreateSelect(builder_.CreateFCmpOLT(x, real(0)), real(std::nan("")), sum));
}

HostEmitter::Angle HostEmitter::reduce_angle(Value* x) {
  llvm::Type* f64 = with_lanes_of(builder_.getDoubleTy(), x);
  llvm::Type* i64 = with_lanes_of(builder_.getInt64Ty(), x);
  llvm::Type* i32 = with_lanes_of(builder_.getInt32Ty(), x);
  const auto real = [&](double v) { return llvm::ConstantFP::get(f64, v); };
  const auto whole = [&](int64_t v) { return llvm::ConstantInt::get(i64, static_cast<uint64_t>(v)); };

  // Up to 2^28: in f64, pi/2 in two parts of which the first has zeros to spare.
  constexpr double kHalfPi1 = 1.5707963267341256, kHalfPi2 = 6.077100506506192e-11;
  Value* wide = builder_.CreateFPExt(x, f64);
  Value* shifted = builder_.CreateFAdd(builder_.CreateFMul(wide, real(0.63661977236758134308)), real(kRoundShift64));
  Value* turns = builder_.CreateFSub(shifted, real(kRoundShift64));
  Value* near = fma_of(turns, real(-kHalfPi1), wide);
  near = fma_of(turns, real(-kHalfPi2), near);
  Value* near_quadrant = builder_.CreateTrunc(builder_.CreateBitCast(shifted, i64), i32);

  // Beyond: x = m * 2^e with a whole m; m times the place of 2^e on the circle, in 64-bit fixed point.
  Value* bits = bits_of(x);
  Value* exponent = builder_.CreateAnd(builder_.CreateLShr(bits, int_constant(bits, 23)), int_constant(bits, 255));
  Value* power = builder_.CreateSub(exponent, int_constant(bits, 150));
  power = builder_.CreateAnd(builder_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, power, int_constant(bits, 0)),
                             int_constant(bits, 127));
  Value* mantissa =
      builder_.CreateOr(builder_.CreateAnd(bits, int_constant(bits, 0x7FFFFF)), int_constant(bits, 0x800000));
  Value* m = builder_.CreateZExt(mantissa, i64);
  m = builder_.CreateSelect(builder_.CreateICmpSLT(bits, int_constant(bits, 0)), builder_.CreateNeg(m), m);
  llvm::Module* module = function_->getParent();
  llvm::GlobalVariable* table = module->getGlobalVariable("coda.turns", true);
  if (!table) {
    llvm::Constant* turns_of_powers = turn_table(builder_);
    table = new llvm::GlobalVariable(*module, turns_of_powers->getType(), true, llvm::GlobalValue::PrivateLinkage,
                                     turns_of_powers, "coda.turns");
  }
  Value* place_of_power;
  Value* index = builder_.CreateZExt(power, i64);
  Value* pointers = builder_.CreateGEP(builder_.getInt64Ty(), table, index);
  if (x->getType()->isVectorTy()) {
    place_of_power = builder_.CreateMaskedGather(i64, pointers, llvm::Align(8));
  } else {
    place_of_power = builder_.CreateLoad(i64, pointers);
  }
  Value* place = builder_.CreateMul(m, place_of_power);
  Value* quarter = builder_.CreateLShr(builder_.CreateAdd(place, whole(int64_t{1} << 61)), whole(62));
  Value* beyond = builder_.CreateSub(place, builder_.CreateShl(quarter, whole(62)));
  Value* far = builder_.CreateFMul(builder_.CreateSIToFP(beyond, f64), real(2 * M_PI * 0x1p-64));
  Value* far_quadrant = builder_.CreateTrunc(quarter, i32);

  Value* magnitude = builder_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
  Value* is_far = builder_.CreateFCmpOGE(magnitude, real_constant(x, 0x1p28));
  Value* is_finite = builder_.CreateFCmpOLT(magnitude, real_constant(x, std::numeric_limits<double>::infinity()));
  Value* rest = builder_.CreateSelect(is_far, far, near);
  rest = builder_.CreateFPTrunc(rest, x->getType());
  rest = builder_.CreateSelect(is_finite, rest, real_constant(x, std::nan("")));
  return {builder_.CreateSelect(is_far, far_quadrant, near_quadrant), rest};
}

/// sin(a + quarter_turns * pi/2).
Val HostEmitter::circular(Val a, int quarter_turns) {
  Value* x = coda::value_of(a);
  place(x);
  const Angle angle = reduce_angle(x);
  Value* r = angle.rest;
  Value* square = builder_.CreateFMul(r, r);
  Value* sine = fma_of(builder_.CreateFMul(r, square),
                       polynomial(square, {-0.166666546095, 0.00833216076181, -0.000195152831868}), r);
  Value* cosine = fma_of(builder_.CreateFMul(square, square),
                         polynomial(square, {0.041666645683, -0.00138873162545, 2.44331570711e-05}),
                         fma_of(square, real_constant(x, -0.5), real_constant(x, 1)));
  Value* quadrant = builder_.CreateAdd(angle.quadrant, int_constant(angle.quadrant, quarter_turns));
  Value* zero = int_constant(quadrant, 0);
  Value* odd = builder_.CreateICmpNE(builder_.CreateAnd(quadrant, int_constant(quadrant, 1)), zero);
  Value* value = builder_.CreateSelect(odd, cosine, sine);
  Value* sign = builder_.CreateShl(builder_.CreateAnd(quadrant, int_constant(quadrant, 2)), int_constant(quadrant, 30));
  return val_of(real_of(builder_.CreateXor(bits_of(value), sign)));
}

Val HostEmitter::sin(Val a) { return circular(a, 0); }
Val HostEmitter::cos(Val a) { return circular(a, 1); }

Val HostEmitter::tanh_fast(Val a) {
  // (1 - e)/(1 + e) with e = exp(-2|x|); near 0, where that cancels, the odd series.
  const Val magnitude = abs(a), square = mul(a, a);
  Val series = real(-17.0 / 315);
  for (const double c : {2.0 / 15, -1.0 / 3, 1.0}) series = fma(series, square, real(c));
  const Val e = exp2(mul(magnitude, real(-2 * 1.44269504088896340736)));
  const Val far = copysign(div(sub(real(1), e), add(real(1), e)), a);
  return select(compare(Compare::Lt, magnitude, real(0.25), NumClass::Real), mul(series, a), far);
}

}  // namespace coda
