// setp: comparisons of integers and floats, ordered and unordered.
#include <cmath>

#include "tests/ptx/emulator/lane_map.h"
#include "tests/ptx/emulator/number_formats.h"
#include "tests/ptx/emulator/opcodes.h"

namespace coda::ptx {
namespace {

#define COMPARISON(Name, expression)  \
  struct Name {                       \
    template <class T>                \
    bool operator()(T a, T b) const { \
      return expression;              \
    }                                 \
  };
COMPARISON(Eq, a == b)
COMPARISON(Lt, a < b)
COMPARISON(Le, a <= b)
COMPARISON(Gt, a > b)
COMPARISON(Ge, a >= b)
COMPARISON(Ne, a != b)
/// Of floats: false of NaN, as all ordered comparisons.
COMPARISON(OrderedNe, a<b || a> b)
COMPARISON(Num, a == a && b == b)
COMPARISON(Nan, a != a || b != b)
#undef COMPARISON

template <class F>
struct OrNan {
  template <class T>
  bool operator()(T a, T b) const {
    return F()(a, b) || a != a || b != b;
  }
};
template <const FloatFormat& kFormat, class F>
struct Half {
  bool operator()(uint16_t a, uint16_t b) const { return F()(decode_float(a, kFormat), decode_float(b, kFormat)); }
};

#define ORDERS(type, letters, T)                                                          \
  {"setp.lt." type, letters, test2<Lt, T>}, {"setp.le." type, letters, test2<Le, T>},     \
      {"setp.gt." type, letters, test2<Gt, T>}, {"setp.ge." type, letters, test2<Ge, T>}, \
      {"setp.eq." type, letters, test2<Eq, T>}, {                                         \
    "setp.ne." type, letters, test2<Ne, T>                                                \
  }
#define BITS(type, letters, T) \
  {"setp.eq." type, letters, test2<Eq, T>}, { "setp.ne." type, letters, test2<Ne, T> }
#define FLOAT_TESTS(type, letters, T, W)                                                                        \
  {"setp.eq." type, letters, test2<W(Eq), T>}, {"setp.ne." type, letters, test2<W(OrderedNe), T>},              \
      {"setp.lt." type, letters, test2<W(Lt), T>}, {"setp.le." type, letters, test2<W(Le), T>},                 \
      {"setp.gt." type, letters, test2<W(Gt), T>}, {"setp.ge." type, letters, test2<W(Ge), T>},                 \
      {"setp.equ." type, letters, test2<W(OrNan<Eq>), T>}, {"setp.neu." type, letters, test2<W(Ne), T>},        \
      {"setp.ltu." type, letters, test2<W(OrNan<Lt>), T>}, {"setp.leu." type, letters, test2<W(OrNan<Le>), T>}, \
      {"setp.gtu." type, letters, test2<W(OrNan<Gt>), T>}, {"setp.geu." type, letters, test2<W(OrNan<Ge>), T>}, \
      {"setp.num." type, letters, test2<W(Num), T>}, {                                                          \
    "setp.nan." type, letters, test2<W(Nan), T>                                                                 \
  }
#define PLAIN(F) F
#define OF_F16(F) Half<kF16, F>
#define OF_BF16(F) Half<kBF16, F>

constexpr Opcode kOpcodes[] = {
    ORDERS("s16", "phh", int16_t),
    ORDERS("u16", "phh", uint16_t),
    ORDERS("s32", "pww", int32_t),
    ORDERS("u32", "pww", uint32_t),
    ORDERS("s64", "pdd", int64_t),
    ORDERS("u64", "pdd", uint64_t),
    BITS("b16", "phh", uint16_t),
    BITS("b32", "pww", uint32_t),
    BITS("b64", "pdd", uint64_t),
    FLOAT_TESTS("f32", "pww", float, PLAIN),
    FLOAT_TESTS("f64", "pdd", double, PLAIN),
    FLOAT_TESTS("f16", "phh", uint16_t, OF_F16),
    FLOAT_TESTS("bf16", "phh", uint16_t, OF_BF16),
};

}  // namespace

OpcodeTable compare_opcodes() { return {kOpcodes, {}}; }

}  // namespace coda::ptx
