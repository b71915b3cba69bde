// Writes of tile outputs: the elements of one slice, gathered into runs that lie side by side in memory, encoded and
// stored at once where the launch found the memory aligned, else one by one; never outside the tensor.
#pragma once

#include "compiler/codegen/sm90_loads.h"

namespace coda {

/// One element of a slice.
struct Sm90Element {
  int slot;                  ///< column slot
  std::vector<Coord> index;  ///< of the parameter
  Val value;                 ///< in the number class of the parameter's type, brought into its range
  Val predicate;             ///< null: wherever row and column are inside
};

void store_sm90_elements(Sm90Region& region, int param, int row_slot, std::span<const Sm90Element> elements,
                         EpilogueEvaluator& evaluator);

}  // namespace coda
