// Runs a program through the reference evaluator on small made-up inputs, for comparison with loops written by hand.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compile.h"

namespace coda::test {

struct Array {
  std::vector<int64_t> shape;
  std::vector<double> values;
  double at(const std::vector<int64_t>& coordinates) const;
  double& at(const std::vector<int64_t>& coordinates);
};

/// Inputs and results of one run, by name of the parameter; `before` holds an inout's old values.
struct Run {
  std::map<std::string, Array> before, after;
  /// An input, or a result if there is one of that name.
  double operator()(const std::string& name, const std::vector<int64_t>& coordinates = {}) const;
  double old(const std::string& name, const std::vector<int64_t>& coordinates = {}) const;
};

/// Compiles `text` and evaluates all outputs. Real inputs are seeded multiples of 1/8 in [-2, 2], integers lie in
/// [0, 3], unless `given` has the values. Fails the running test if anything goes wrong.
Run evaluate(const std::string& text, const Bindings& sizes, std::map<std::string, std::vector<double>> given = {},
             const ElaborateRequest& request = {}, const ImportReader& reader = {});

}  // namespace coda::test
