// Random kernels without a product, as text.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/format/dim.h"

namespace coda::test {

struct RandomRowwise {
  std::string text;
  Bindings bound, sizes;
  int64_t pitch = 0, last_stride = 1;  ///< of a second run: see HostRun
  int64_t columns = 1;                 ///< that code may be made for
};

/// The same kernel for the same seed, everywhere.
RandomRowwise random_rowwise(unsigned seed);

}  // namespace coda::test
