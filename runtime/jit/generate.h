// From epilogue IR to code, for each target.
#pragma once

#include "runtime/jit/jit.h"

namespace coda {

/// Fills image, dumps and times of `result`, whose epilogue is there. Reports what a target can't do.
void generate(const CompileRequest& request, Compilation& result);

}  // namespace coda
