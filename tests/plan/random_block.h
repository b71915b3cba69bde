// Random small blocks as text: chains of products, norms, activations, gates, residuals, biases and row factors.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/format/dim.h"

namespace coda::testing {

struct RandomBlock {
  std::string text;
  Bindings dims;  ///< small and ragged
};

/// The same block for the same seed, everywhere.
RandomBlock random_block(uint64_t seed);

}  // namespace coda::testing
