// Accumulators as they come of an instruction give each thread of a quad two neighbouring columns of every eight. Here
// the quad exchanges them, so that each thread has as many side by side as a region's plan says: eight for 16-byte
// loads and stores, others for groups of other sizes.
#pragma once

#include <vector>

#include "compiler/codegen/nvptx_builder.h"
#include "compiler/codegen/sm90_layout.h"

namespace coda {

/// `lane`: I32, the thread's number in its warp.
void exchange_sm90_quads(NvptxBuilder& b, const Sm90Plan& plan, const Sm90RegionPlan& region, Val lane,
                         std::vector<Val>& accumulators);

}  // namespace coda
