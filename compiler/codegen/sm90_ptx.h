// The last step of both kinds of sm_90a kernel: what was built becomes PTX in the image.
#pragma once

#include "compiler/codegen/nvptx_target.h"
#include "compiler/codegen/sm90.h"
#include "dsl/diagnostics.h"

namespace coda {

class NvptxBuilder;

/// Fills code, PTX and, if wanted, LLVM's text of `result`; false and E0502 at `where` if LLVM refuses the code.
bool finish_sm90(NvptxBuilder& builder, const Sm90Options& options, NvptxCode code, Span where, Sm90Result& result,
                 Diagnostics& diagnostics);

}  // namespace coda
