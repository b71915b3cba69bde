// What a block's intermediate tensors are stored as where nothing says it.
#pragma once

#include "compiler/ir/graph.h"

namespace coda {

/// The type of the outputs of 16 bits; where all outputs are scalars and vectors (losses, statistics), that of the
/// matrices of 16 bits that are read; else f32.
DType storage_type(const Program& program);

}  // namespace coda
