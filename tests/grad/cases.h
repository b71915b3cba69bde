// Programs that gradients and printing are tested on, each with small ragged sizes.
#pragma once

#include <string>
#include <vector>

#include "numeric.h"

namespace coda::test {

struct Case {
  std::string what;
  Program program;
  Bindings sizes;
  std::vector<Wrt> wrt;  ///< empty: everything that is real
};

/// One a construct of the language.
std::vector<Case> language_cases();
/// One a function of the prelude; a function without a call there fails.
std::vector<Case> prelude_cases();
/// Every kernel and block of examples/.
std::vector<Case> example_cases();
/// A Llama layer from attention's output to the next layer's queries, keys and values.
Case llama_case();
Case mlp_case();

std::string read_file(const std::string& path);

}  // namespace coda::test
