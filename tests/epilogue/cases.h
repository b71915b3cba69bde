// A kernel's text, sizes to run it at, and the check that its lowered form computes what the source means.
#pragma once

#include <vector>

#include "lowered.h"

namespace coda::test {

struct Case {
  const char* name;
  const char* text;
  std::vector<Bindings> sizes;
  Bindings bound;
  double tolerance = 1e-9;
};

/// Checks every size, with the text and the lowered program as context.
void check(const Case& c);

}  // namespace coda::test
