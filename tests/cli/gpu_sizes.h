// Sizes and inputs that programs are run with where a test doesn't list them.
#pragma once

#include <string>
#include <vector>

#include "runtime/format/dim.h"

namespace coda::testing {

/// Sizes whose rows tensor maps can address: multiples of 16 but for the named symbols.
Bindings aligned_sizes(Bindings sizes, const std::vector<std::string>& but = {});

/// Inputs of whole numbers up to `most`, whose products are exact: what compares them then has one answer.
std::vector<std::string> whole_inputs(const std::string& text, const Bindings& bound, unsigned seed, int most = 2);

/// The symbols of a program's parameters that have no value yet; empty if it isn't well-formed.
std::vector<std::string> open_symbols(const std::string& text, const Bindings& bound, const std::string& routine = "");

/// The wanted sizes, changed until they fit: batches become few until no product has more than some 20 million
/// multiplications, then sizes grow until every extent is whole and every fact holds.
Bindings fitting_sizes(const std::string& text, const Bindings& bound, Bindings wanted);

}  // namespace coda::testing
