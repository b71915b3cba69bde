// Packing of a GEMM operand: elements of any type and strides become f32 panels in the order that the register blocks
// read them.
#pragma once

#include "runtime/host_abi.h"

namespace coda {

/// The operand of one product of a batch.
HostOperand host_operand(const HostOperand& operand, int64_t batch);

/// Packs outer coordinates [first, first + count) and depth [depth, depth + length) into panels of `width` outer
/// coordinates: panel p is [length][width], what goes beyond `count` is zero.
void host_pack(const HostOperand& operand, int64_t first, int64_t count, int64_t depth, int64_t length, int width,
               float* out);

}  // namespace coda
