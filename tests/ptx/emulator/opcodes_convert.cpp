// cvt: between integers, between integers and floats, and to and from the narrow floats.
#include <cmath>
#include <limits>
#include <type_traits>

#include "tests/ptx/emulator/lane_map.h"
#include "tests/ptx/emulator/number_formats.h"
#include "tests/ptx/emulator/number_types.h"
#include "tests/ptx/emulator/opcodes.h"

namespace coda::ptx {
namespace {

/// Of 8-bit numbers, which lie in 16-bit registers, only the low byte counts.
template <class D, class S>
struct Cast {
  template <class A>
  auto operator()(A a) const {
    return static_cast<D>(static_cast<S>(a));
  }
};
template <class D>
struct IntToFloat {
  template <class A>
  D operator()(A a) const {
    return static_cast<D>(a);
  }
};

enum class Round { Nearest, Zero, Down, Up };
template <Round kRound, class T>
T round_to_integer(T a) {
  switch (kRound) {
    case Round::Nearest:
      return std::nearbyint(a);
    case Round::Zero:
      return std::trunc(a);
    case Round::Down:
      return std::floor(a);
    case Round::Up:
      return std::ceil(a);
  }
  return a;
}
template <Round kRound>
struct ToIntegral {
  template <class T>
  T operator()(T a) const {
    return round_to_integer<kRound>(a);
  }
};
/// Saturates; of NaN 0.
template <Round kRound, class D>
struct FloatToInt {
  template <class T>
  D operator()(T a) const {
    if (std::isnan(a)) return 0;
    const f64 x = static_cast<f64>(round_to_integer<kRound>(a));
    constexpr f64 kBeyond = std::is_signed_v<D> ? -2.0 * static_cast<f64>(std::numeric_limits<D>::min() / 2)
                                                : 2.0 * static_cast<f64>(std::numeric_limits<D>::max() / 2 + 1);
    if (x >= kBeyond) return std::numeric_limits<D>::max();
    if (x < static_cast<f64>(std::numeric_limits<D>::min())) return std::numeric_limits<D>::min();
    return static_cast<D>(x);
  }
};

template <const FloatFormat& kFormat>
struct Widen {
  f32 operator()(u16 a) const { return decode_float(a, kFormat); }
};
/// bf16 is the upper half of f32; rounding it is frequent.
struct ToBf16 {
  u16 operator()(f32 a) const {
    u32 bits;
    std::memcpy(&bits, &a, sizeof(bits));
    const u32 rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    return static_cast<u16>((bits & 0x7fffffff) > 0x7f800000 ? 0x7fff : rounded);
  }
};
struct ToF16 {
  u16 operator()(f32 a) const { return static_cast<u16>(encode_float(a, kF16)); }
};
/// The first operand is the upper half.
template <class F>
struct Pair {
  u32 operator()(f32 high, f32 low) const { return u32{F()(high)} << 16 | F()(low); }
};
template <const FloatFormat& kFormat>
struct Pair8 {
  u16 operator()(f32 high, f32 low) const {
    return static_cast<u16>(encode_float(high, kFormat, true) << 8 | encode_float(low, kFormat, true));
  }
};
template <const FloatFormat& kFormat>
struct Widen8 {
  u32 operator()(u16 a) const {
    return encode_float(decode_float(a >> 8, kFormat), kF16) << 16 | encode_float(decode_float(a & 255, kFormat), kF16);
  }
};

#define INT(d, s, dt, st, letters) \
  { "cvt." #d "." #s, letters, map1<Cast<dt, st>, dt, st> }
#define TO_16(d)                                                                                     \
  INT(d##16, u32, u16, u32, "hw"), INT(d##16, s32, u16, u32, "hw"), INT(d##16, u64, u16, u64, "hd"), \
      INT(d##16, s64, u16, u64, "hd")
#define OF_8(s, t)                                                                                              \
  {"cvt.u16." #s, "hh", map1<Cast<u16, t>, u16, u16>}, {"cvt.s16." #s, "hh", map1<Cast<u16, t>, u16, u16>},     \
      {"cvt.u32." #s, "wh", map1<Cast<u32, t>, u32, u16>}, {"cvt.s32." #s, "wh", map1<Cast<u32, t>, u32, u16>}, \
      {"cvt.u64." #s, "dh", map1<Cast<u64, t>, u64, u16>}, {                                                    \
    "cvt.s64." #s, "dh", map1<Cast<u64, t>, u64, u16>                                                           \
  }

#define FLOAT_OF_INT(f, ft, l)                                      \
  {"cvt.rn." f ".s16", l "h", map1<IntToFloat<ft>, ft, s16>},       \
      {"cvt.rn." f ".u16", l "h", map1<IntToFloat<ft>, ft, u16>},   \
      {"cvt.rn." f ".s32", l "w", map1<IntToFloat<ft>, ft, s32>},   \
      {"cvt.rn." f ".u32", l "w", map1<IntToFloat<ft>, ft, u32>},   \
      {"cvt.rn." f ".s64", l "d", map1<IntToFloat<ft>, ft, s64>}, { \
    "cvt.rn." f ".u64", l "d", map1<IntToFloat<ft>, ft, u64>        \
  }
#define INT_OF_FLOAT(r, R, f, ft, l)                                    \
  {"cvt." r ".s32." f, "w" l, map1<FloatToInt<R, s32>, s32, ft>},       \
      {"cvt." r ".u32." f, "w" l, map1<FloatToInt<R, u32>, u32, ft>},   \
      {"cvt." r ".s64." f, "d" l, map1<FloatToInt<R, s64>, s64, ft>},   \
      {"cvt." r ".u64." f, "d" l, map1<FloatToInt<R, u64>, u64, ft>},   \
      {"cvt." r ".s16." f, "h" l, map1<FloatToInt<R, s16>, s16, ft>},   \
      {"cvt." r ".u16." f, "h" l, map1<FloatToInt<R, u16>, u16, ft>}, { \
    "cvt." r "." f "." f, l l, map1<ToIntegral<R>, ft, ft>              \
  }
#define OF_FLOATS(r, R) INT_OF_FLOAT(r, R, "f32", f32, "w"), INT_OF_FLOAT(r, R, "f64", f64, "d")

constexpr Opcode kOpcodes[] = {
    TO_16(u),
    TO_16(s),
    INT(u32, u16, u32, u16, "wh"),
    INT(s32, u16, u32, u16, "wh"),
    INT(u32, s16, u32, s16, "wh"),
    INT(s32, s16, u32, s16, "wh"),
    INT(u64, u16, u64, u16, "dh"),
    INT(s64, s16, u64, s16, "dh"),
    INT(s64, u16, u64, u16, "dh"),
    INT(u32, u64, u32, u64, "wd"),
    INT(s32, s64, u32, s64, "wd"),
    INT(s32, u64, u32, u64, "wd"),
    INT(u32, s64, u32, s64, "wd"),
    INT(u64, u32, u64, u32, "dw"),
    INT(s64, s32, u64, s32, "dw"),
    INT(s64, u32, u64, u32, "dw"),
    INT(u64, s32, u64, s32, "dw"),
    OF_8(s8, s8),
    OF_8(u8, u8),
    FLOAT_OF_INT("f32", f32, "w"),
    FLOAT_OF_INT("f64", f64, "d"),
    OF_FLOATS("rni", Round::Nearest),
    OF_FLOATS("rzi", Round::Zero),
    OF_FLOATS("rmi", Round::Down),
    OF_FLOATS("rpi", Round::Up),
    {"cvt.f64.f32", "dw", map1<IntToFloat<f64>, f64, f32>},
    {"cvt.rn.f32.f64", "wd", map1<IntToFloat<f32>, f32, f64>},
    {"cvt.f32.f16", "wh", map1<Widen<kF16>, f32, u16>},
    {"cvt.f32.bf16", "wh", map1<Widen<kBF16>, f32, u16>},
    {"cvt.rn.f16.f32", "hw", map1<ToF16, u16, f32>},
    {"cvt.rn.bf16.f32", "hw", map1<ToBf16, u16, f32>},
    {"cvt.rn.f16x2.f32", "www", map2<Pair<ToF16>, u32, f32>},
    {"cvt.rn.bf16x2.f32", "www", map2<Pair<ToBf16>, u32, f32>},
    {"cvt.rn.satfinite.e4m3x2.f32", "hww", map2<Pair8<kE4M3>, u16, f32>},
    {"cvt.rn.satfinite.e5m2x2.f32", "hww", map2<Pair8<kE5M2>, u16, f32>},
    {"cvt.rn.f16x2.e4m3x2", "wh", map1<Widen8<kE4M3>, u32, u16>},
    {"cvt.rn.f16x2.e5m2x2", "wh", map1<Widen8<kE5M2>, u32, u16>},
};

}  // namespace

OpcodeTable convert_opcodes() { return {kOpcodes, {}}; }

}  // namespace coda::ptx
