// In-place parameters are read only at the element that is written: then every element's new value is computed before
// it is stored, whichever tile comes first.
#pragma once

#include "compiler/epilogue/unit.h"

namespace coda {

bool check_inouts(Lowering& lowering, const EpilogueProgram& epilogue);

}  // namespace coda
