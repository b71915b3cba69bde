// From epilogue IR to code, for each target.
#pragma once

#include "compiler/codegen/sm90.h"
#include "runtime/jit/jit.h"

namespace coda {

/// How a kernel is compiled for sm_90a: extents of the GEMM where the request's bindings give them decide on the tile.
Sm90Options sm90_options_for(const CompileRequest& request, const EpilogueProgram& epilogue);

/// What a kernel's place in a block means for its code.
struct KernelPlace {
  bool approximate = false;  ///< the results of the block are all of narrow types
  /// How it overlaps with its neighbours, and by parameter, which of them none of these writes; see Sm90Options.
  int dependent = 0;
  std::vector<bool> constant;
};

/// Fills image, dumps and times of `result`, whose epilogue is there. Reports what a target can't do.
void generate(const CompileRequest& request, Compilation& result, const KernelPlace& place = {});

}  // namespace coda
