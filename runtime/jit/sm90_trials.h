// Compiling a kernel for sm_90a with the tile that suits it: the best by estimate, or the first that does not spill.
#pragma once

#include "runtime/jit/generate.h"

namespace coda {

/// Fills image, dumps and times of `result`, whose epilogue is there.
void compile_best_sm90(const CompileRequest& request, Compilation& result, const KernelPlace& place);

}  // namespace coda
