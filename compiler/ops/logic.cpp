// Comparisons, truth values and selection.
#include <cmath>
#include <limits>

#include "compiler/ops/families.h"

namespace coda {

namespace {

using Args = std::span<const double>;
using Vals = std::span<const Val>;

template <Compare Relation>
Val emit_compare(Emitter& e, Vals a, NumClass num_class) {
  return e.compare(Relation, a[0], a[1], num_class);
}

Val emit_is_nan(Emitter& e, Vals a, NumClass num_class) { return e.compare(Compare::Ne, a[0], a[0], num_class); }

Val emit_is_finite(Emitter& e, Vals a, NumClass num_class) {
  if (num_class == NumClass::Int) return e.boolean(true);
  return e.compare(Compare::Lt, e.abs(a[0]), e.real(std::numeric_limits<double>::infinity()), NumClass::Real);
}

constexpr Op kOps[] = {
    {.name = "eq",
     .arity = 2,
     .rule = ClassRule::Compare,
     .doc = "Whether x equals y; false where either is NaN.",
     .example = "x == y",
     .eval = [](Args a) -> double { return a[0] == a[1]; },
     .emit = emit_compare<Compare::Eq>,
     .ulp = 0},
    {.name = "ne",
     .arity = 2,
     .rule = ClassRule::Compare,
     .doc = "Whether x differs from y; true where either is NaN.",
     .example = "x != y",
     .eval = [](Args a) -> double { return a[0] != a[1]; },
     .emit = emit_compare<Compare::Ne>,
     .ulp = 0},
    {.name = "lt",
     .arity = 2,
     .rule = ClassRule::Compare,
     .doc = "Whether x is below y.",
     .example = "x < y",
     .eval = [](Args a) -> double { return a[0] < a[1]; },
     .emit = emit_compare<Compare::Lt>,
     .ulp = 0},
    {.name = "le",
     .arity = 2,
     .rule = ClassRule::Compare,
     .doc = "Whether x is below y or equals it.",
     .example = "x <= y",
     .eval = [](Args a) -> double { return a[0] <= a[1]; },
     .emit = emit_compare<Compare::Le>,
     .ulp = 0},
    {.name = "gt",
     .arity = 2,
     .rule = ClassRule::Compare,
     .doc = "Whether x is above y.",
     .example = "x > y",
     .eval = [](Args a) -> double { return a[0] > a[1]; },
     .emit = emit_compare<Compare::Gt>,
     .ulp = 0},
    {.name = "ge",
     .arity = 2,
     .rule = ClassRule::Compare,
     .doc = "Whether x is above y or equals it.",
     .example = "x >= y",
     .eval = [](Args a) -> double { return a[0] >= a[1]; },
     .emit = emit_compare<Compare::Ge>,
     .ulp = 0},
    {.name = "is_nan",
     .arity = 1,
     .rule = ClassRule::Compare,
     .doc = "Whether x is NaN.",
     .example = "is_nan(x)",
     .eval = [](Args a) -> double { return std::isnan(a[0]); },
     .emit = emit_is_nan,
     .ulp = 0},
    {.name = "is_finite",
     .arity = 1,
     .rule = ClassRule::Compare,
     .doc = "Whether x is neither NaN nor infinite.",
     .example = "is_finite(x)",
     .eval = [](Args a) -> double { return std::isfinite(a[0]); },
     .emit = emit_is_finite,
     .ulp = 0},
    {.name = "and",
     .arity = 2,
     .rule = ClassRule::Logical,
     .doc = "Whether both are true.",
     .example = "x > 0 and y > 0",
     .eval = [](Args a) -> double { return a[0] != 0 && a[1] != 0; },
     .emit = [](Emitter& e, Vals a, NumClass) { return e.logical_and(a[0], a[1]); },
     .ulp = 0},
    {.name = "or",
     .arity = 2,
     .rule = ClassRule::Logical,
     .doc = "Whether at least one is true.",
     .example = "x > 0 or y > 0",
     .eval = [](Args a) -> double { return a[0] != 0 || a[1] != 0; },
     .emit = [](Emitter& e, Vals a, NumClass) { return e.logical_or(a[0], a[1]); },
     .ulp = 0},
    {.name = "not",
     .arity = 1,
     .rule = ClassRule::Logical,
     .doc = "Whether it is false.",
     .example = "not (x > 0)",
     .eval = [](Args a) -> double { return a[0] == 0; },
     .emit = [](Emitter& e, Vals a, NumClass) { return e.logical_not(a[0]); },
     .ulp = 0},
    {.name = "select",
     .arity = 3,
     .rule = ClassRule::Select,
     .doc = "x where the condition c holds, else y. The other one's value does not matter, not even a NaN.",
     .example = "select(c, x, y)",
     .eval = [](Args a) { return a[0] != 0 ? a[1] : a[2]; },
     .emit = [](Emitter& e, Vals a, NumClass) { return e.select(a[0], a[1], a[2]); },
     .ulp = 0,
     .grad = {"", "select(c, g, 0)", "select(c, 0, g)"}},
};

}  // namespace

std::span<const Op> logic_ops() { return kOps; }

}  // namespace coda
