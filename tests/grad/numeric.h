// Runs programs on named arrays in f64, and compares derived gradients with finite differences.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/grad/gradient.h"
#include "compiler/ir/graph.h"

namespace coda::test {

/// Row-major, in declared order.
using Arrays = std::map<std::string, std::vector<double>>;

/// The routine of `text` (the only one, or `routine`). Fails the running test on an error.
Program program_of(const std::string& text, const std::string& routine = "");
/// Both directions with respect to `wrt`, or to every real tensor; all three programs are verified.
Gradient gradient_of(const Program& program, std::vector<Wrt> wrt = {});

/// Parameters of 32 bits and no rigid rounding: what finite differences can follow.
Program without_rounding(const Program& program);

/// Distinct multiples of 1/64 with magnitudes from 1/4, so that kinks at 0 and ties are away; whole numbers from 0 to
/// `most`. Upstream gradients and inputs alike.
Arrays made_up(const Program& program, const Bindings& sizes, uint32_t seed, int64_t most = 3);

/// The outputs of `program`; inputs are taken from `values` by name.
Arrays run(const Program& program, const Bindings& sizes, const Arrays& values);

/// The largest difference beside the largest value, over all of `a`.
double difference(const Arrays& a, const Arrays& b);

/// Differentiates `program` and compares with central differences of fourth order along random directions, and element
/// by element where a tensor is small; then that forward and backward, run one after the other, give the same.
void check_gradient(const Program& program, const Bindings& sizes, uint32_t seed, std::vector<Wrt> wrt = {},
                    double tolerance = 1e-7, const Arrays& given = {});

}  // namespace coda::test
