// What cuTensorMapEncodeTiled of our drivers for tests writes into a tensor map: its arguments, plainly.
#pragma once

#include <cstdint>

namespace fake_cuda {

struct EncodedMap {
  uint64_t magic, address;
  uint64_t extents[5], strides[4];  ///< elements; bytes, of all axes but the innermost
  uint16_t box[5];
  uint8_t rank, type, swizzle;
};
inline constexpr uint64_t kMapMagic = 0x7465736e6f72;

}  // namespace fake_cuda
