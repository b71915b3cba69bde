#include "compiler/codegen/signature.h"

namespace coda {

void describe_signature(const Program& program, std::string_view target, Signature& signature) {
  signature.name = program.name;
  signature.target = target;
  signature.bound = program.bound;
  for (const Param& param : program.params) {
    ParamSpec spec{.name = param.name,
                   .role = static_cast<ParamSpec::Role>(param.role),
                   .dtype = param.dtype,
                   .extents = {},
                   .default_value = param.default_value,
                   .layout = param.layout};
    for (const NamedDim& dim : param.dims) spec.extents.push_back(dim.extent);
    signature.params.push_back(std::move(spec));
  }
  for (const DimFact& fact : program.facts) {
    signature.facts.push_back({fact.left, fact.right, fact.modulus, fact.relation});
  }
}

}  // namespace coda
