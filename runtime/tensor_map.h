// TMA tensor maps from their specifications and a launch's arguments.
#pragma once

#include "runtime/bind.h"
#include "runtime/driver.h"

namespace coda {

/// What cuTensorMapEncodeTiled is given.
struct TensorMapValues {
  int data_type = 0, rank = 0, swizzle = 0;
  uintptr_t address = 0;
  uint64_t extents[5] = {};
  uint64_t strides[4] = {};  ///< in bytes, of all axes but the innermost
  uint32_t box[5] = {};
};

/// Nothing where the hardware can't address the tensor that way (TensorMapSpec says when); the kernel then loads by
/// other means.
std::optional<TensorMapValues> tensor_map_values(const TensorMapSpec& spec, const LaunchPlan::MapDims& dims,
                                                 std::span<const int64_t> symbols, const TensorView& view);

/// The same tensor at another address.
inline void move_tensor_map(TensorMapValues& values, const void* from, const void* to) {
  values.address += reinterpret_cast<uintptr_t>(to) - reinterpret_cast<uintptr_t>(from);
}

/// False if the address is none that the hardware takes, or the driver refuses.
bool encode_tensor_map(const Driver& cu, const TensorMapValues& values, CuTensorMap& map);

}  // namespace coda
