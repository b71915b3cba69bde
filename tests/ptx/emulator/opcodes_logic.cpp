// Bits: and, or, xor, not of words and of predicates; shifts, fields, permutations and counts.
#include <bit>

#include "tests/ptx/emulator/lane_map.h"
#include "tests/ptx/emulator/number_types.h"
#include "tests/ptx/emulator/opcodes.h"

namespace coda::ptx {
namespace {

struct And {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a & b);
  }
};
struct Or {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a | b);
  }
};
struct Xor {
  template <class T>
  T operator()(T a, T b) const {
    return static_cast<T>(a ^ b);
  }
};
struct Not {
  template <class T>
  T operator()(T a) const {
    return static_cast<T>(~a);
  }
};
/// Distances of the width and more shift everything out.
struct ShiftLeft {
  template <class T>
  T operator()(T a, u32 by) const {
    return by < 8 * sizeof(T) ? static_cast<T>(a << by) : T{0};
  }
};
struct ShiftRight {
  template <class T>
  T operator()(T a, u32 by) const {
    constexpr u32 kLast = 8 * sizeof(T) - 1;
    if (by > kLast) return static_cast<T>(std::is_signed_v<T> && a < 0 ? -1 : 0);
    return static_cast<T>(a >> by);
  }
};
template <bool kLeft>
struct FunnelWrap {
  u32 operator()(u32 low, u32 high, u32 by) const {
    const u64 both = u64{high} << 32 | low;
    by &= 31;
    return static_cast<u32>(kLeft ? both << by >> 32 : both >> by);
  }
};
struct ExtractField {
  template <class T>
  T operator()(T a, u32 from, u32 count) const {
    using U = std::make_unsigned_t<T>;
    constexpr u32 kBits = 8 * sizeof(T);
    from &= 255;
    count &= 255;
    const bool negative =
        std::is_signed_v<T> && count > 0 && (static_cast<U>(a) >> std::min(from + count - 1, kBits - 1) & 1);
    U field = from < kBits ? static_cast<U>(static_cast<U>(a) >> from) : U{0};
    const u32 there = from < kBits ? std::min(count, kBits - from) : 0;
    if (there < kBits) field &= static_cast<U>((U{1} << there) - 1);
    if (negative && there < kBits) field |= static_cast<U>(~((U{1} << there) - 1));
    return static_cast<T>(count == 0 ? U{0} : field);
  }
};
struct InsertField {
  template <class T>
  T operator()(T field, T into, u32 from, u32 count) const {
    constexpr u32 kBits = 8 * sizeof(T);
    from &= 255;
    count &= 255;
    if (from >= kBits || count == 0) return into;
    const T ones = count >= kBits ? static_cast<T>(~T{0}) : static_cast<T>((T{1} << count) - 1);
    return static_cast<T>((into & ~(ones << from)) | (field & ones) << from);
  }
};
struct Permute {
  u32 operator()(u32 a, u32 b, u32 selectors) const {
    const u64 both = u64{b} << 32 | a;
    u32 result = 0;
    for (u32 i = 0; i < 4; ++i) {
      const u32 selector = selectors >> (4 * i) & 15;
      u32 byte = static_cast<u32>(both >> (8 * (selector & 7)) & 255);
      if (selector & 8) byte = byte & 128 ? 255 : 0;
      result |= byte << (8 * i);
    }
    return result;
  }
};
struct LeadingZeros {
  template <class T>
  u32 operator()(T a) const {
    return static_cast<u32>(std::countl_zero(a));
  }
};
struct Ones {
  template <class T>
  u32 operator()(T a) const {
    return static_cast<u32>(std::popcount(a));
  }
};
struct ReverseBits {
  u32 operator()(u32 a) const {
    u32 result = 0;
    for (int i = 0; i < 32; ++i) result |= (a >> i & 1) << (31 - i);
    return result;
  }
};

template <class T>
Outcome insert_field(Warp& w, const Instruction& in, uint32_t mask) {
  T result[kLanes];
  uint32_t known = kAllLanes;
  for (size_t i = 1; i < 5; ++i) known &= w.defined(in.at[i]);
  for (int i = 0; i < kLanes; ++i) {
    result[i] = InsertField()(w.lanes<T>(in.at[1])[i], w.lanes<T>(in.at[2])[i], w.lanes<u32>(in.at[3])[i],
                              w.lanes<u32>(in.at[4])[i]);
  }
  w.flow(in, in.at[0], known, mask, 1, 4);
  keep(w.lanes<T>(in.at[0]), result, mask);
  return Outcome::Next;
}

/// Of predicates: a result may be known though an operand is not.
template <class F, bool kDominant>
Outcome predicates(Warp& w, const Instruction& in, uint32_t mask) {
  const uint32_t a = w.predicate(in.at[1]), b = w.predicate(in.at[2]);
  const uint32_t known_a = w.defined(in.at[1]), known_b = w.defined(in.at[2]);
  uint32_t known = known_a & known_b;
  if (kDominant) {  // false of and, true of or
    const bool dominant = F()(0u, 1u) != 0;
    known |= (known_a & (dominant ? a : ~a)) | (known_b & (dominant ? b : ~b));
  }
  w.flow(in, in.at[0], known, mask, 1, 2);
  uint32_t& to = w.predicate(in.at[0]);
  to = (to & ~mask) | (F()(a, b) & mask);
  return Outcome::Next;
}

Outcome not_predicate(Warp& w, const Instruction& in, uint32_t mask) {
  const uint32_t value = ~w.predicate(in.at[1]);
  w.flow(in, in.at[0], w.defined(in.at[1]), mask, 1, 1);
  uint32_t& to = w.predicate(in.at[0]);
  to = (to & ~mask) | (value & mask);
  return Outcome::Next;
}

#define WORDS(name, F)                                                                \
  {name ".b16", "hhh", map2<F, u16, u16>}, {name ".b32", "www", map2<F, u32, u32>}, { \
    name ".b64", "ddd", map2<F, u64, u64>                                             \
  }

constexpr Opcode kOpcodes[] = {
    WORDS("and", And),
    WORDS("or", Or),
    WORDS("xor", Xor),
    {"not.b16", "hh", map1<Not, u16, u16>},
    {"not.b32", "ww", map1<Not, u32, u32>},
    {"not.b64", "dd", map1<Not, u64, u64>},
    {"and.pred", "ppp", predicates<And, true>},
    {"or.pred", "ppp", predicates<Or, true>},
    {"xor.pred", "ppp", predicates<Xor, false>},
    {"not.pred", "pp", not_predicate},
    {"shl.b16", "hhw", map2<ShiftLeft, u16, u16, u32>},
    {"shl.b32", "www", map2<ShiftLeft, u32, u32, u32>},
    {"shl.b64", "ddw", map2<ShiftLeft, u64, u64, u32>},
    {"shr.u16", "hhw", map2<ShiftRight, u16, u16, u32>},
    {"shr.u32", "www", map2<ShiftRight, u32, u32, u32>},
    {"shr.b32", "www", map2<ShiftRight, u32, u32, u32>},
    {"shr.u64", "ddw", map2<ShiftRight, u64, u64, u32>},
    {"shr.b64", "ddw", map2<ShiftRight, u64, u64, u32>},
    {"shr.s16", "hhw", map2<ShiftRight, int16_t, int16_t, u32>},
    {"shr.s32", "www", map2<ShiftRight, s32, s32, u32>},
    {"shr.s64", "ddw", map2<ShiftRight, s64, s64, u32>},
    {"shf.l.wrap.b32", "wwww", map3<FunnelWrap<true>, u32, u32>},
    {"shf.r.wrap.b32", "wwww", map3<FunnelWrap<false>, u32, u32>},
    {"bfe.u32", "wwww", map3<ExtractField, u32, u32, u32, u32>},
    {"bfe.s32", "wwww", map3<ExtractField, s32, s32, u32, u32>},
    {"bfe.u64", "ddww", map3<ExtractField, u64, u64, u32, u32>},
    {"bfe.s64", "ddww", map3<ExtractField, s64, s64, u32, u32>},
    {"bfi.b32", "wwwww", insert_field<u32>},
    {"bfi.b64", "dddww", insert_field<u64>},
    {"prmt.b32", "wwww", map3<Permute, u32, u32>},
    {"clz.b32", "ww", map1<LeadingZeros, u32, u32>},
    {"clz.b64", "wd", map1<LeadingZeros, u32, u64>},
    {"popc.b32", "ww", map1<Ones, u32, u32>},
    {"popc.b64", "wd", map1<Ones, u32, u64>},
    {"brev.b32", "ww", map1<ReverseBits, u32, u32>},
};

}  // namespace

OpcodeTable logic_opcodes() { return {kOpcodes, {}}; }

}  // namespace coda::ptx
