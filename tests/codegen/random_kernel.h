// Random kernels that are right by construction, kept as trees so that a failing one can be made small.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "runtime/format/dim.h"

namespace coda::test {

/// Text with a `$` for each part, or a leaf. A part has the whole's dimensions or fewer, so it can stand in for it.
struct RandomExpression {
  std::string text;
  std::vector<RandomExpression> parts;
  std::string to_text() const;
};

/// One output: `declaration` goes behind `->`; `before` and `after` enclose the expression.
struct RandomStore {
  std::string declaration, before, after;
  RandomExpression value;
};

struct RandomKernel {
  std::string parameters, lets;
  std::vector<RandomStore> stores;
  Bindings bound, sizes;
  std::string to_text() const;
};

/// The same seed gives the same kernel everywhere.
RandomKernel random_kernel(unsigned seed);

/// The smallest kernel found that still `fails`, by leaving out stores, putting parts in the place of wholes, and
/// smaller sizes.
RandomKernel smallest(RandomKernel kernel, const std::function<bool(const RandomKernel&)>& fails);

}  // namespace coda::test
