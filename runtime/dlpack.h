// Tensors of other libraries by DLPack, in and out. The structure is DLPack's own, by its layout: no header of theirs
// is needed, and theirs may be included too. Nothing is copied and nothing is owned.
#pragma once

#include "runtime/tensor.h"

namespace coda {

/// `tensor` is a DLTensor*: the first member of a DLManagedTensor, `&managed->dl_tensor` of the versioned one.
/// InvalidArgument for types, devices and ranks that coda has not.
Expected<TensorView> from_dlpack(const void* tensor);

/// The layout of DLTensor.
struct DlpackTensor {
  void* data;
  int32_t device_type, device_id;
  int32_t rank;
  uint8_t code, bits;
  uint16_t lanes;
  const int64_t* shape;
  const int64_t* strides;  ///< in elements; null: row-major
  uint64_t byte_offset;
};
/// `view` lends its shape and strides, and must live as long.
DlpackTensor to_dlpack(const TensorView& view);

}  // namespace coda
