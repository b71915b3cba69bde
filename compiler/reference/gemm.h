// A batched f64 matrix product for the reference evaluator: blocked, threaded, plain IEEE sums in order of k.
#pragma once

#include <cstdint>

#include "compiler/reference/workers.h"

namespace coda {

/// c[b, i, j] += sum over k of a[b, i, k] * bt[b, j, k], all dense and row-major.
void accumulate_products(Workers& workers, int64_t batch, int64_t m, int64_t n, int64_t k, const double* a,
                         const double* bt, double* c);

}  // namespace coda
