// Kernels without a product, one of each kind, for both back ends.
#pragma once

#include <string>
#include <vector>

#include "runtime/format/dim.h"

namespace coda::test {

struct RowwiseForm {
  std::string name, text;
  Bindings bound, moderate;  ///< symbols of the structure; sizes to run at
  double ulps = 16;          ///< what its f32 arithmetic may lose
};
std::vector<RowwiseForm> rowwise_forms();

}  // namespace coda::test
