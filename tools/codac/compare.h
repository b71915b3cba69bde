// How close a kernel's output is to the reference, and whether that is close enough. The bound follows from the types
// and the depth of the GEMM alone; docs/numerics.md derives it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
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
/// How the value of an output was made.
struct ValueOrigin {
  int64_t depth = 0;           ///< of the products behind it, in all
  std::optional<DType> rigid;  ///< the coarsest type that the program rounds terms of a sum behind it to: any of them
                               ///< may go to its other neighbour where it is close to a tie
  bool is_stored = false;      ///< a value of the stored type already: storing it rounds nothing
  KeptRoundings kept;
};
/// `slack` multiplies what comes from accumulation and from `kept`. The RMS bound does not grow by `rigid`, for that is
/// rare.
ErrorBound error_bound(DType stored, const ValueOrigin& origin, double slack = 1);
/// The same of a value that is not stored, but computed in f32 on the way to what is.
ErrorBound computed_bound(DType stored, const ValueOrigin& origin, double slack = 1);

/// RMS of the finite references, by row and in all.
class RowScales {
 public:
  explicit RowScales(const std::vector<ComparedElement>& elements);
  double of(int64_t row) const { return rows_.at(row); }
  double all() const { return all_; }

 private:
  std::unordered_map<int64_t, double> rows_;
  double all_ = 0;
};
/// Whether one element is right.
bool is_within(const ComparedElement& element, DType stored, const ErrorBound& bound, double scale);

struct Comparison {
  int64_t compared = 0, beyond = 0;
  std::vector<size_t> off;          ///< the elements beyond their bound, by position in what was compared
  int64_t other_side = 0;           ///< on the other side of an edge that the reference is within its error of
  int64_t non_finite = 0, nan = 0;  ///< of the reference, as stored; of the reference
  int64_t imprecise = 0;            ///< whole numbers that are too large for the reference, compared as f64
  double max_error = 0;             ///< largest |got - want| over the row's scale
  double rms_error = 0;             ///< RMS of got - want over RMS of want
  double worst = 0;                 ///< largest |got - want| over what the bound allows; over 1 fails
  ComparedElement at;               ///< where `worst` is
  bool passed = false;
  std::string reason;  ///< why it failed
};

/// `of_nothing`: a dimension is empty, so that a reference that is zero everywhere, or nowhere finite, proves
/// something; otherwise it fails.
Comparison compare(const std::vector<ComparedElement>& elements, DType stored, const ErrorBound& bound,
                   bool of_nothing);

}  // namespace coda
