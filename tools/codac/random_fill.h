// Seeded random tensors: the value of an element depends on the seed, the tensor's name and the element's index alone,
// so that every machine and every number of threads makes the same input.
#pragma once

#include <string>

#include "tools/codac/elements.h"

namespace coda {

struct Distribution {
  enum class Kind : uint8_t { Normal, Uniform, Integers, Constant };
  Kind kind = Kind::Normal;
  double a = 0, b = 1;  ///< Normal: mean, deviation; Uniform and Integers: [a, b); Constant: a
  double outlier = 0;   ///< Integers: one element in 16 takes this value instead, if it is not 0
};

/// Reads "normal", "normal(0, 0.02)", "uniform(0.5, 1.5)", "integers(0, 100)", "3.5".
bool parse_distribution(const std::string& text, Distribution& out);

void fill_random(HostTensor& tensor, const Distribution& distribution, uint64_t seed, const std::string& name);

}  // namespace coda
