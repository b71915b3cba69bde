// Emits the whole kernel: set-up, the two roles, tear-down.
#pragma once

#include <string>

#include "compiler/codegen/nvptx_builder.h"
#include "compiler/codegen/sm90_layout.h"
#include "runtime/format/kernel_image.h"

namespace coda {

/// What could not be generated; empty if all was. Fills the image's words, conditions and workspaces.
std::string emit_sm90_kernel(NvptxBuilder& builder, const EpilogueProgram& epilogue, const Sm90Plan& plan,
                             KernelImage& image);

}  // namespace coda
