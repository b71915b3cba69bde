// The producer's two ways to fill the ring. By tensor maps: one thread issues bulk copies, the B tile multicast over
// the cluster. By loads: what the copy engine can't address (odd strides, misaligned bases, an empty depth) is read
// element by element by the whole warpgroup into the same shared-memory layout; slower, but right for any strides.
#pragma once

#include "compiler/codegen/sm90_context.h"

namespace coda {

/// Digits of the tile's batch along the operand's batch axes: I32, innermost first.
std::vector<Val> sm90_batch_digits(Sm90Context& context, const GemmOperand& operand, Val batch);

/// I1, uniform over the grid: every tensor map that tiles need could be encoded.
Val sm90_tensor_maps_usable(Sm90Context& context);
/// By one thread.
void emit_sm90_tensor_producer(Sm90Context& context);
/// By the producer warpgroup.
void emit_sm90_loading_producer(Sm90Context& context);

}  // namespace coda
