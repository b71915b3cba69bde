// Compares the outputs of a run with the reference evaluator, whole where that is cheap, else on a sample.
#pragma once

#include <string>
#include <vector>

#include "tools/codac/arguments.h"
#include "tools/codac/compare.h"

namespace coda {

struct VerifyOptions {
  int64_t rows = 16, columns = 64;  ///< of each output, where not all of it is compared
  uint64_t seed = 1;
  double slack = 1;
};

struct OutputReport {
  std::string name;
  DType dtype = DType::F32;
  bool whole = false;
  ErrorBound bound;
  Comparison comparison;
};

/// `program` is the source, which the reference evaluates; `problem`, how it was computed. `arguments` are as they were
/// before the run; `results` holds the outputs, by parameter.
Expected<std::vector<OutputReport>> verify(const Program& program, const Problem& problem, const Arguments& arguments,
                                           const std::vector<HostTensor>& results, const VerifyOptions& options);

/// The sampled coordinates of a shape: first, last and random rows (first axis) and columns (all others).
std::vector<std::vector<int64_t>> sample_coordinates(const Sizes& shape, const VerifyOptions& options);

}  // namespace coda
