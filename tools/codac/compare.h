// How close a kernel's output is to the reference, and whether that is close enough. The bound follows from the types
// and the depth of the GEMM alone; docs/numerics.md derives it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/format/dtype.h"

namespace coda {

/// One compared element. `row` groups elements that share a scale.
struct ComparedElement {
  int64_t row = 0, index = 0;
  double got = 0, want = 0;
  double kept = 0;  ///< what the roundings of tensors kept between kernels do to it, where that was computed
};

/// Tensors kept between the kernels on the way to an output.
struct KeptRoundings {
  double sum = 0;         ///< of their unit roundoffs
  bool computed = false;  ///< what they do to each element is in `ComparedElement::kept`
};

/// What an element may be off beside its `kept`.
struct ErrorBound {
  double relative = 0;  ///< of the element: rounding of what is stored
  double scaled = 0;    ///< of the row's scale: accumulation in f32 and what follows it
  double absolute = 0;  ///< half the smallest subnormal of the stored type
  double rms = 0;       ///< of the tensor's RMS
};
/// `slack` multiplies what comes from accumulation and from `kept`. `rigid` is the coarsest type that a cast in the
/// program rounds to on the way to this output: an argument close to a tie may go to the other neighbour, one unit in
/// the last place away. That is rare, so the RMS bound does not grow by it.
ErrorBound error_bound(DType stored, int64_t depth, double slack = 1, std::optional<DType> rigid = {},
                       KeptRoundings kept = {});

struct Comparison {
  int64_t compared = 0, beyond = 0;
  int64_t non_finite = 0, nan = 0;  ///< of the reference, as stored; of the reference
  int64_t imprecise = 0;            ///< whole numbers that are too large for the reference, compared as f64
  double max_error = 0;             ///< largest |got - want| over the row's scale
  double rms_error = 0;             ///< RMS of got - want over RMS of want
  double worst = 0;                 ///< largest |got - want| over what the bound allows; over 1 fails
  ComparedElement at;               ///< where `worst` is
  bool passed = false;
  std::string reason;  ///< why it failed
};

/// `zero_expected`: a reference that is zero everywhere proves something (a GEMM of depth 0), otherwise it fails.
Comparison compare(const std::vector<ComparedElement>& elements, DType stored, const ErrorBound& bound,
                   bool zero_expected);

}  // namespace coda
