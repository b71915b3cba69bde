// How often a pass over rows evaluates elements: a reduction that is needed within each element, since it is of part of
// a row only, is walked for every one of them.
#pragma once

#include "compiler/epilogue/epilogue.h"
#include "compiler/rewrite/sizes.h"

namespace coda {

/// Evaluations of what is reduced within elements, over all of them.
double walks_within_elements(const EpilogueProgram& pass, const SizeHints& sizes);

}  // namespace coda
