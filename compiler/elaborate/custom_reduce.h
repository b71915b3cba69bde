// `reduce(x, over = N, identity = 0, combine = f)`: a reduction of the program's own.
#pragma once

#include "compiler/elaborate/calls.h"

namespace coda {

std::span<const Word> reduction_words();

}  // namespace coda
