#include "compiler/ir/storage_type.h"

namespace coda {

DType storage_type(const Program& program) {
  DType stored = DType::F32;
  bool has_matrix = false;
  for (const auto& output : program.outputs) {
    const Param& param = program.params[static_cast<size_t>(output.param)];
    has_matrix = has_matrix || param.dims.size() > 1;
    if (info(param.dtype).bits == 16) stored = param.dtype;
  }
  if (stored != DType::F32 || has_matrix) return stored;
  for (const Param& param : program.params) {
    if (param.dims.size() > 1 && info(param.dtype).bits == 16) stored = param.dtype;
  }
  return stored;
}

}  // namespace coda
