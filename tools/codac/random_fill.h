// Seeded random tensors: the value of an element depends on the seed, the tensor's name and the element's index alone,
// so that every machine and every number of threads makes the same input.
#pragma once

#include <optional>
#include <string>

#include "coda/status.h"
#include "tools/codac/elements.h"

namespace coda {

struct Distribution {
  enum class Kind : uint8_t { Normal, Uniform, Integers, Constant };
  Kind kind = Kind::Normal;
  double a = 0, b = 1;           ///< Normal: mean, deviation; Uniform and Integers: [a, b); Constant: a
  double outlier = 0;            ///< Integers: one element in 16 takes this value instead, if it is not 0
  std::optional<int64_t> whole;  ///< Constant: its value where it was written as an integer
};

/// Reads "normal", "normal(0, 0.02)", "uniform(0.5, 1.5)", "integers(0, 100)", "3.5"; nothing for a text that is not
/// meant as one. Why, for one whose numbers make no sense.
Expected<std::optional<Distribution>> parse_distribution(const std::string& text);
/// Whether elements of that type can take the values: a fraction is no integer, and what is written must be in range.
Status fits(const Distribution& distribution, DType dtype);

void fill_random(HostTensor& tensor, const Distribution& distribution, uint64_t seed, const std::string& name);

}  // namespace coda
