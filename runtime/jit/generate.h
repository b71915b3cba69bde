// From epilogue IR to code, for each target.
#pragma once

#include "compiler/codegen/sm90.h"
#include "runtime/jit/jit.h"

namespace coda {

/// How a kernel is compiled for sm_90a: extents of the GEMM where the request's bindings give them decide on the tile.
Sm90Options sm90_options_for(const CompileRequest& request, const EpilogueProgram& epilogue);

/// Fills image, dumps and times of `result`, whose epilogue is there. Reports what a target can't do. `approximate`:
/// the results of the block it is part of are all of narrow types.
void generate(const CompileRequest& request, Compilation& result, bool approximate = false);

}  // namespace coda
