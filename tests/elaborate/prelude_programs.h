// Functions of the standard library that take more than one row: each in a program with a check by hand.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "evaluate.h"

namespace coda::test {

struct PreludeProgram {
  std::vector<std::string> names;  ///< the functions that it tests
  std::string text;
  std::function<void(const Run&)> check;
};
const std::vector<PreludeProgram>& prelude_programs();

/// Sizes of all of them: M = 5 rows of N = 8; R = 4 of them are rotated.
inline const Bindings kPreludeSizes{{"M", 5}, {"N", 8}, {"R", 4}};

}  // namespace coda::test
