// `quantize(z, T, over = n, scale = S, round = ceil)`: elements of a narrow type and the scales that they are of.
#pragma once

#include "compiler/elaborate/calls.h"

namespace coda {

std::span<const Word> quantize_words();

}  // namespace coda
