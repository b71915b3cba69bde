// Random small programs over every node kind, with arrays to run them on. Values are small multiples of 1/4 with a few
// NaN and infinities, so that sums and products are exact and a rounding is never decided by the order of additions.
#pragma once

#include <random>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/reference/reference.h"

namespace coda::test {

struct Array {
  DType dtype = DType::F32;
  std::vector<int64_t> shape, strides;
  std::vector<uint8_t> bytes;
  int64_t first = 0;  ///< element where the view starts
  double scalar = 0;

  double at(const std::vector<int64_t>& coordinates) const {
    int64_t offset = first;
    for (size_t d = 0; d < shape.size(); ++d) offset += coordinates[d] * strides[d];
    return load_element(bytes.data(), dtype, offset);
  }
};

struct RandomProgram {
  Program program;
  Bindings bindings;
  std::vector<Array> arrays;

  std::vector<ReferenceInput> inputs() const;
};

/// Extents are drawn from [least_extent, 5]. With `special`, about one value in sixteen is NaN or infinite.
RandomProgram random_program(unsigned seed, bool special, int least_extent = 1);

}  // namespace coda::test
