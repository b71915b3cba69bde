// f32 functions built from the Emitter's primitives to a few units in the last place; ops and reductions share them.
#pragma once

#include <initializer_list>

#include "compiler/ops/emitter.h"

namespace coda {

/// c[0] + x·(c[1] + x·(…)), by fma.
Val emit_polynomial(Emitter& e, Val x, std::initializer_list<double> coefficients);

Val emit_exp(Emitter& e, Val x);
Val emit_log(Emitter& e, Val x);
/// |x|^y with IEEE's special cases, and the sign of a negative x for whole y.
Val emit_pow(Emitter& e, Val x, Val y);

}  // namespace coda
