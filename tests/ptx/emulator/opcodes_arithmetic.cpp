// Integer and float arithmetic. Floats are computed in their own type, each operation rounded, nothing fused.
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "tests/ptx/emulator/lane_map.h"
#include "tests/ptx/emulator/number_formats.h"
#include "tests/ptx/emulator/number_types.h"
#include "tests/ptx/emulator/opcodes.h"

namespace coda::ptx {
namespace {

__extension__ using u128 = unsigned __int128;
__extension__ using s128 = __int128;

struct Add {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a + b);
  }
};
struct Sub {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a - b);
  }
};
struct Mul {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a * b);
  }
};
struct Mad {
  template <class T>
  T operator()(T a, T b, T c) const {
    return static_cast<T>(a * b + c);
  }
};
template <class W>
struct MulWide {
  template <class T>
  W operator()(T a, T b) const {
    return static_cast<W>(a) * static_cast<W>(b);
  }
};
template <class W>
struct MadWide {
  template <class T>
  W operator()(T a, T b, W c) const {
    return static_cast<W>(static_cast<W>(a) * static_cast<W>(b) + c);
  }
};
template <class W>
struct MulHigh {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>((static_cast<W>(a) * static_cast<W>(b)) >> (8 * sizeof(T)));
  }
};
/// By 0 the hardware gives all ones.
struct Divide {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) return static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(a));
    }
    return b == 0 ? static_cast<T>(-1) : static_cast<T>(a / b);
  }
};
struct Remainder {
  template <class T>
  T operator()(T a, T b) const {
    if constexpr (std::is_signed_v<T>) {
      if (b == -1) return 0;
    }
    return b == 0 ? a : static_cast<T>(a % b);
  }
};
struct Min {
  template <class T>
  T operator()(T a, T b) const {
    return std::min(a, b);
  }
};
struct Max {
  template <class T>
  T operator()(T a, T b) const {
    return std::max(a, b);
  }
};
struct Negate {
  template <class T>
  T operator()(T a) const {
    return static_cast<T>(0 - a);
  }
};
struct Absolute {
  template <class T>
  T operator()(T a) const {
    return a < 0 ? static_cast<T>(0 - a) : a;
  }
};

// Signs of floats are bits: also of NaN and zero.
template <class B>
constexpr B kSign = static_cast<B>(B{1} << (8 * sizeof(B) - 1));
template <class B>
struct FlipSign {
  B operator()(B a) const { return static_cast<B>(a ^ kSign<B>); }
};
template <class B>
struct ClearSign {
  B operator()(B a) const { return static_cast<B>(a & static_cast<B>(~kSign<B>)); }
};
struct CopySign {
  u32 operator()(u32 a, u32 b) const { return (b & ~kSign<u32>) | (a & kSign<u32>); }
};
/// Zeros are ordered: -0 < +0. The number, of a number and NaN, or NaN.
template <bool kGreater, bool kNan>
struct FloatExtreme {
  template <class T>
  T operator()(T a, T b) const {
    if (std::isnan(a) || std::isnan(b)) {
      if (kNan || (std::isnan(a) && std::isnan(b))) return std::numeric_limits<T>::quiet_NaN();
      return std::isnan(a) ? b : a;
    }
    if (a == b) return std::signbit(a) == kGreater ? b : a;
    return (a > b) == kGreater ? a : b;
  }
};
struct Fma {
  template <class T>
  T operator()(T a, T b, T c) const {
    return std::fma(a, b, c);
  }
};
/// A product of floats is exact in double, and its sum with a float seldom is not; then it must not be rounded twice.
struct FmaFloat {
  f32 operator()(f32 a, f32 b, f32 c) const {
    const f64 product = static_cast<f64>(a) * b, sum = product + c;
    u64 bits;
    std::memcpy(&bits, &sum, sizeof(bits));
    if ((bits & 0x1fffffff) != 0x10000000 && std::fabs(sum) > 1e-30) return static_cast<f32>(sum);
    return std::fma(a, b, c);
  }
};
struct Quotient {
  template <class T>
  T operator()(T a, T b) const {
    return a / b;
  }
};
struct SquareRoot {
  template <class T>
  T operator()(T a) const {
    return std::sqrt(a);
  }
};

/// Arithmetic of 16-bit floats: in f32, rounded once.
template <const FloatFormat& kFormat, class F>
struct Half {
  static float in(u16 a) { return decode_float(a, kFormat); }
  u16 operator()(u16 a, u16 b) const { return out(F()(static_cast<f64>(in(a)), static_cast<f64>(in(b)))); }
  u16 operator()(u16 a, u16 b, u16 c) const {
    return out(F()(static_cast<f64>(in(a)), static_cast<f64>(in(b)), static_cast<f64>(in(c))));
  }
  static u16 out(f64 value) { return static_cast<u16>(encode_float(value, kFormat)); }
};

#define SIGNED_AND_UNSIGNED(name, F)                                                    \
  {name ".s16", "hhh", map2<F, u16, u16>}, {name ".u16", "hhh", map2<F, u16, u16>},     \
      {name ".s32", "www", map2<F, u32, u32>}, {name ".u32", "www", map2<F, u32, u32>}, \
      {name ".s64", "ddd", map2<F, u64, u64>}, {                                        \
    name ".u64", "ddd", map2<F, u64, u64>                                               \
  }
#define BY_SIGN(name, F)                                                                \
  {name ".s16", "hhh", map2<F, s16, s16>}, {name ".u16", "hhh", map2<F, u16, u16>},     \
      {name ".s32", "www", map2<F, s32, s32>}, {name ".u32", "www", map2<F, u32, u32>}, \
      {name ".s64", "ddd", map2<F, s64, s64>}, {                                        \
    name ".u64", "ddd", map2<F, u64, u64>                                               \
  }
#define FLOATS(name, map, letters, F) \
  {name ".f32", letters, map<F, f32, f32>}, { name ".rn.f32", letters, map<F, f32, f32> }
#define DOUBLES(name, map, letters, F) \
  {name ".f64", letters, map<F, f64, f64>}, { name ".rn.f64", letters, map<F, f64, f64> }
#define HALVES(name, map, letters, F)                                                                            \
  {name ".f16", letters, map<Half<kF16, F>, u16, u16>}, {name ".rn.f16", letters, map<Half<kF16, F>, u16, u16>}, \
      {name ".rn.bf16", letters, map<Half<kBF16, F>, u16, u16>}, {                                               \
    name ".bf16", letters, map<Half<kBF16, F>, u16, u16>                                                         \
  }

constexpr Opcode kOpcodes[] = {
    SIGNED_AND_UNSIGNED("add", Add),
    SIGNED_AND_UNSIGNED("sub", Sub),
    SIGNED_AND_UNSIGNED("mul.lo", Mul),
    BY_SIGN("div", Divide),
    BY_SIGN("rem", Remainder),
    BY_SIGN("min", Min),
    BY_SIGN("max", Max),
    {"mad.lo.s32", "wwww", map3<Mad, u32, u32>},
    {"mad.lo.u32", "wwww", map3<Mad, u32, u32>},
    {"mad.lo.s64", "dddd", map3<Mad, u64, u64>},
    {"mad.lo.u64", "dddd", map3<Mad, u64, u64>},
    {"mad.wide.u32", "dwwd", map3<MadWide<u64>, u64, u32>},
    {"mad.wide.s32", "dwwd", map3<MadWide<s64>, s64, s32>},
    {"mul.wide.u16", "whh", map2<MulWide<u32>, u32, u16>},
    {"mul.wide.s16", "whh", map2<MulWide<s32>, s32, s16>},
    {"mul.wide.u32", "dww", map2<MulWide<u64>, u64, u32>},
    {"mul.wide.s32", "dww", map2<MulWide<s64>, s64, s32>},
    {"mul.hi.u32", "www", map2<MulHigh<u64>, u32, u32>},
    {"mul.hi.s32", "www", map2<MulHigh<s64>, s32, s32>},
    {"mul.hi.u64", "ddd", map2<MulHigh<u128>, u64, u64>},
    {"mul.hi.s64", "ddd", map2<MulHigh<s128>, s64, s64>},
    {"neg.s16", "hh", map1<Negate, u16, u16>},
    {"neg.s32", "ww", map1<Negate, u32, u32>},
    {"neg.s64", "dd", map1<Negate, u64, u64>},
    {"abs.s32", "ww", map1<Absolute, s32, s32>},
    {"abs.s64", "dd", map1<Absolute, s64, s64>},
    FLOATS("add", map2, "www", Add),
    FLOATS("sub", map2, "www", Sub),
    FLOATS("mul", map2, "www", Mul),
    FLOATS("div", map2, "www", Quotient),
    {"div.full.f32", "www", map2<Quotient, f32, f32>},
    {"div.approx.f32", "www", map2<Quotient, f32, f32>},
    {"fma.rn.f32", "wwww", map3<FmaFloat, f32, f32>},
    {"sqrt.rn.f32", "ww", map1<SquareRoot, f32, f32>},
    {"sqrt.approx.f32", "ww", map1<SquareRoot, f32, f32>},
    DOUBLES("add", map2, "ddd", Add),
    DOUBLES("sub", map2, "ddd", Sub),
    DOUBLES("mul", map2, "ddd", Mul),
    DOUBLES("div", map2, "ddd", Quotient),
    {"fma.rn.f64", "dddd", map3<Fma, f64, f64>},
    HALVES("add", map2, "hhh", Add),
    HALVES("sub", map2, "hhh", Sub),
    HALVES("mul", map2, "hhh", Mul),
    {"fma.rn.f16", "hhhh", map3<Half<kF16, Fma>, u16, u16>},
    {"fma.rn.bf16", "hhhh", map3<Half<kBF16, Fma>, u16, u16>},
    {"neg.f32", "ww", map1<FlipSign<u32>, u32, u32>},
    {"neg.f64", "dd", map1<FlipSign<u64>, u64, u64>},
    {"neg.f16", "hh", map1<FlipSign<u16>, u16, u16>},
    {"neg.bf16", "hh", map1<FlipSign<u16>, u16, u16>},
    {"abs.f32", "ww", map1<ClearSign<u32>, u32, u32>},
    {"abs.f64", "dd", map1<ClearSign<u64>, u64, u64>},
    {"abs.f16", "hh", map1<ClearSign<u16>, u16, u16>},
    {"abs.bf16", "hh", map1<ClearSign<u16>, u16, u16>},
    {"copysign.f32", "www", map2<CopySign, u32, u32>},
    {"min.f32", "www", map2<FloatExtreme<false, false>, f32, f32>},
    {"max.f32", "www", map2<FloatExtreme<true, false>, f32, f32>},
    {"min.NaN.f32", "www", map2<FloatExtreme<false, true>, f32, f32>},
    {"max.NaN.f32", "www", map2<FloatExtreme<true, true>, f32, f32>},
};

}  // namespace

OpcodeTable arithmetic_opcodes() { return {kOpcodes, {}}; }

}  // namespace coda::ptx
