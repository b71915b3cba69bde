// Puts the parts of a pass over rows together: the loop over rows, a row's statistics, its stores.
#pragma once

#include <string>

#include "compiler/codegen/nvptx_builder.h"
#include "compiler/codegen/sm90_rowwise_plan.h"
#include "runtime/format/kernel_image.h"

namespace coda {

/// Fills the words, conditions, workspaces and shared memory of the image. The reason of a failure, or empty.
std::string emit_sm90_rowwise(NvptxBuilder& builder, const EpilogueProgram& epilogue, const Sm90RowPlan& plan,
                              KernelImage& image);

}  // namespace coda
