// The whole language in every layout: kernels whose outputs use each op, each reduction in each place and each function
// of the prelude, for the four layouts of a product's operands and each type of its operands.
#pragma once

#include <string>
#include <vector>

#include "runtime/format/dim.h"

namespace coda::test {

struct MatrixKernel {
  std::string name;  ///< "functions 3, kn, f16"
  std::string type;  ///< of the operands
  std::string text;
  Bindings bound;
  std::vector<Bindings> sizes;  ///< ragged
  bool relative = false;        ///< its results are right element by element
  double ulps = 2;              ///< of f32: what its arithmetic may lose
};

/// Every kernel of the matrix. Operands are to be whole numbers of 16 at most: sums of products of them and what the
/// kernels make of these before they use the language are exact in f32.
std::vector<MatrixKernel> language_matrix();

/// The names of what the matrix uses: ops, reductions and functions.
std::vector<std::string> language_matrix_words();

}  // namespace coda::test
