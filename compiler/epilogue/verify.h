// The rules an epilogue program must keep, checked without trusting how it was made: what a code generator relies on.
#pragma once

#include <string>
#include <vector>

#include "compiler/epilogue/epilogue.h"

namespace coda {

/// What is broken, one sentence each; empty for a sound program.
std::vector<std::string> verify_epilogue(const EpilogueProgram& epilogue);
/// The same for a program without a product.
std::vector<std::string> verify_rowwise(const EpilogueProgram& epilogue);

}  // namespace coda
