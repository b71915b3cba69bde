#include "tools/codac/laid_out.h"

namespace coda {

Expected<HostTensor> laid_out_memory(const ParamSpec& param, const Sizes& shape) {
  Sizes whole = shape;
  if (const ParamLayoutInfo* layout = find_layout(param.layout)) {
    whole = {padded(shape[0], layout->rows), padded(shape[1], layout->columns)};
  }
  return HostTensor::create(param.dtype, whole);
}

TensorView laid_out_view(TensorView memory, const Sizes& shape) {
  memory.shape = shape;
  return memory;
}

Expected<HostTensor> row_major_copy(const ParamSpec& param, const HostTensor& memory, const Sizes& shape) {
  if (param.layout == ParamLayout::RowMajor) return contiguous_copy(memory.view());
  auto copy = HostTensor::create(param.dtype, shape);
  if (!copy.ok()) return copy.status();
  const int64_t pitch = memory.view().strides[0];
  for (int64_t row = 0; row < shape[0]; ++row) {
    for (int64_t column = 0; column < shape[1]; ++column) {
      copy->storage()[static_cast<size_t>(row * shape[1] + column)] =
          memory.storage()[static_cast<size_t>(mx128x4_offset(row, column, pitch))];
    }
  }
  return copy;
}

}  // namespace coda
