// The one description of a signature's stored form; see archive.h.
#pragma once

#include "runtime/format/signature.h"

namespace coda {

template <class Io, class Param>
void visit_param(Io& io, Param& param) {
  io.field(param.name);
  io.enumeration(param.role, ParamSpec::Role::Scalar);
  io.enumeration(param.dtype, DType::Bool);
  io.list(param.extents, [](Io& inner, auto& dim) { inner.field(dim); });
  io.enumeration(param.layout, ParamLayout::Mx128x4);
  io.optional(param.default_value);
}

template <class Io, class Fact>
void visit_fact(Io& io, Fact& fact) {
  io.field(fact.left);
  io.field(fact.right);
  io.optional(fact.modulus);
  io.field(fact.relation);
}

template <class Io, class S>
void visit_signature(Io& io, S& signature) {
  io.field(signature.name);
  io.field(signature.target);
  io.list(signature.params, [](Io& inner, auto& item) { visit_param(inner, item); });
  io.list(signature.facts, [](Io& inner, auto& item) { visit_fact(inner, item); });
  io.field(signature.bound);
}

}  // namespace coda
