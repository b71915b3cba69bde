// Random blocks for the property test: a list of steps, each of which picks its operands among the values so far by a
// number modulo their count, so that any sublist is a block too and a failing one can be shrunk by leaving steps out.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/format/dim.h"

namespace coda::test {

struct BlockStep {
  int kind = 0;                              ///< into the list of stepwise_block.cpp
  uint32_t first = 0, second = 0, form = 0;  ///< operands and variant
};

struct StepwiseBlock {
  std::vector<BlockStep> steps;
  uint32_t outputs = 0;  ///< bits: which of the last values are stored beside the last one
  Bindings sizes, hints;

  std::string text() const;
};

StepwiseBlock stepwise_block(uint32_t seed);

}  // namespace coda::test
