// Conversions between number classes. Roundings to a storage type are the IR's Cast, not ops.
#include <algorithm>
#include <cmath>

#include "compiler/ops/families.h"

namespace coda {

namespace {

using Args = std::span<const double>;
using Vals = std::span<const Val>;

Val emit_to_real(Emitter& e, Vals a, NumClass num_class) {
  if (num_class == NumClass::Int) return e.int_to_real(a[0]);
  return num_class == NumClass::Bool ? e.bool_to_real(a[0]) : a[0];
}

Val emit_to_int(Emitter& e, Vals a, NumClass num_class) {
  if (num_class == NumClass::Real) return e.real_to_int(a[0]);
  return num_class == NumClass::Bool ? e.bool_to_int(a[0]) : a[0];
}

constexpr Op kOps[] = {
    {.name = "to_real",
     .arity = 1,
     .rule = ClassRule::ToReal,
     .doc = "x as a real number; a truth value is 0 or 1.",
     .example = "to_real(x)",
     .eval = [](Args a) { return a[0]; },
     .emit = emit_to_real,
     .ulp = 0,
     .grad = {"g"}},
    {.name = "to_int",
     .arity = 1,
     .rule = ClassRule::ToInt,
     .doc = "x as a whole number, toward zero; beyond 64 bits the nearest end, NaN gives 0.",
     .example = "to_int(x)",
     .eval = [](Args a) { return std::isnan(a[0]) ? 0.0 : std::clamp(std::trunc(a[0]), -0x1p63, 0x1p63); },
     .emit = emit_to_int,
     .ulp = 0},
};

}  // namespace

std::span<const Op> convert_ops() { return kOps; }

}  // namespace coda
