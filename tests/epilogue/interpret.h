// What an epilogue program means, by plain loops in f64: rows, regions, columns, statistics, finish stage. It shares no
// code with the lowering, and checks what a tile may rely on: every use of the accumulator lies in the granule of the
// column that is computed, and every output element is written once.
#pragma once

#include <string>
#include <vector>

#include "compiler/epilogue/epilogue.h"

namespace coda::test {

/// Contents of the parameters, row-major in declared order; a scalar is one number.
using Tensors = std::vector<std::vector<double>>;

struct Interpreted {
  Tensors tensors;                      ///< outputs filled in; elements never written are NaN
  std::vector<std::string> violations;  ///< what no tile could have done
};

Interpreted interpret(const EpilogueProgram& epilogue, const Bindings& bindings, Tensors tensors);

}  // namespace coda::test
