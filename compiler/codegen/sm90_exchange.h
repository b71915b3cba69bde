// Accumulators as they come of an instruction give each thread of a quad two neighbouring columns of every eight. Here
// the quad exchanges them, so that each thread has eight side by side: for 16-byte loads and stores.
#pragma once

#include <vector>

#include "compiler/codegen/nvptx_builder.h"
#include "compiler/codegen/sm90_layout.h"

namespace coda {

/// `quad`: I32, the thread's number in its quad.
void exchange_sm90_quads(NvptxBuilder& b, const Sm90Plan& plan, Val quad, std::vector<Val>& accumulators);

}  // namespace coda
