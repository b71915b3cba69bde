// Products with several row dimensions and several summed ones, in every layout of the operands, whose epilogues read
// tiles, vectors of some of the rows' dimensions and columns: one program of each kind, for both back ends.
#pragma once

#include <string>
#include <vector>

#include "runtime/format/dim.h"

namespace coda::test {

struct RowForm {
  std::string name, text;
  int row_dims = 1, summed_dims = 1;
  std::string layout;           ///< which operands have their summed dimensions first
  std::vector<Bindings> sizes;  ///< ragged ones, which no tensor map can address, and aligned ones
};
std::vector<RowForm> row_forms();

}  // namespace coda::test
