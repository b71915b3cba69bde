// Outputs whose elements do not lie row by row: memory for them, and their elements in row-major order again.
#pragma once

#include "runtime/format/signature.h"
#include "runtime/tensor.h"

namespace coda {

/// Zeros, padded as the parameter's layout says.
Expected<HostTensor> laid_out_memory(const ParamSpec& param, const Sizes& shape);
/// The view of it that a launch takes.
TensorView laid_out_view(TensorView memory, const Sizes& shape);
Expected<HostTensor> row_major_copy(const ParamSpec& param, const HostTensor& memory, const Sizes& shape);

}  // namespace coda
