// Operands of a warpgroup's multiplication in shared memory, as their descriptors say.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/ptx/emulator/code.h"

namespace coda::ptx {

class SharedMemory;
class Warp;

/// The numbers of an operand, depth outermost: value(k, i) is at k * rows + i.
struct MatrixOperand {
  std::vector<float> values;
  std::vector<int32_t> integers;  ///< of S8 and U8 instead
  uint32_t begin = 0, end = 0;    ///< of shared memory it was read from
  bool finite = true;
};

/// An empty text, or what is wrong with what the descriptor says.
std::string read_operand(SharedMemory& shared, const std::vector<Warp*>& by, uint64_t descriptor, int rows, int depth,
                         MatrixShape::Element element, bool other_major, MatrixOperand& operand);

/// The number of a stored element.
float element_value(MatrixShape::Element element, uint32_t bits);

}  // namespace coda::ptx
