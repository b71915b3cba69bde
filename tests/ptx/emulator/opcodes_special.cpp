// The functions of the special-function unit: computed in double and rounded once, which is within their documented
// error. Those with .ftz take and give 0 for subnormal numbers.
#include <cmath>

#include "tests/ptx/emulator/lane_map.h"
#include "tests/ptx/emulator/opcodes.h"

namespace coda::ptx {
namespace {

struct Exp2 {
  double operator()(double x) const { return std::exp2(x); }
};
struct Log2 {
  double operator()(double x) const { return std::log2(x); }
};
struct Reciprocal {
  double operator()(double x) const { return 1 / x; }
};
struct ReciprocalRoot {
  double operator()(double x) const { return 1 / std::sqrt(x); }
};
struct Root {
  double operator()(double x) const { return std::sqrt(x); }
};
struct Tanh {
  double operator()(double x) const { return std::tanh(x); }
};
struct Sin {
  double operator()(double x) const { return std::sin(x); }
};
struct Cos {
  double operator()(double x) const { return std::cos(x); }
};

template <class F>
struct Rounded {
  float operator()(float x) const { return static_cast<float>(F()(x)); }
};
inline float flushed(float x) { return std::fabs(x) < 0x1p-126f ? std::copysign(0.0f, x) : x; }
template <class F>
struct Flushed {
  float operator()(float x) const { return flushed(static_cast<float>(F()(flushed(x)))); }
};

#define BOTH(name, F)                                             \
  {name ".approx.f32", "ww", each1<Rounded<F>, float, float>}, {  \
    name ".approx.ftz.f32", "ww", each1<Flushed<F>, float, float> \
  }

constexpr Opcode kOpcodes[] = {
    BOTH("ex2", Exp2),
    BOTH("lg2", Log2),
    BOTH("rcp", Reciprocal),
    BOTH("rsqrt", ReciprocalRoot),
    BOTH("sin", Sin),
    BOTH("cos", Cos),
    {"tanh.approx.f32", "ww", each1<Rounded<Tanh>, float, float>},
    {"rcp.rn.f32", "ww", each1<Rounded<Reciprocal>, float, float>},
    {"sqrt.approx.ftz.f32", "ww", each1<Flushed<Root>, float, float>},
};

}  // namespace

OpcodeTable special_function_opcodes() { return {kOpcodes, {}}; }

}  // namespace coda::ptx
