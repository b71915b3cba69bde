// `grad f wrt (…)`: the derivative of a kernel or block as blocks of its own. Laws that need no choice (row factors
// leave their sums) are applied to the forward first: what a norm's backward sums over a row then falls out of the
// chain rule one product early.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "dsl/diagnostics.h"

namespace coda {

/// A parameter to differentiate with respect to.
struct Wrt {
  std::string parameter;
  std::optional<DType> dtype;  ///< of the gradient; the parameter's own, or f32 below 16 bits, otherwise
  bool accumulate = false;     ///< added to what the gradient's tensor holds
  Span span;
};

/// The blocks that a declaration makes, each named by the routine's name and a suffix.
enum class Direction : uint8_t { Forward, Backward, Whole };
struct DirectionInfo {
  Direction direction;
  const char *suffix, *doc;  ///< `{}` stands for the routine
};
inline constexpr DirectionInfo kDirections[] = {
    {Direction::Forward, "_fwd", "`{}`, and what its backward reads of it."},
    {Direction::Backward, "_bwd", "The gradient of `{}`, after `{}_fwd`."},
    {Direction::Whole, "_grad", "`{}` and its gradient in one block."},
};
std::string doc_of(const DirectionInfo& info, const std::string& routine);

struct Gradient {
  /// `f_grad`, both directions: the inputs and the outputs' gradients `d_y` in, the outputs and `d_x` out.
  Program whole;
  Program forward;   ///< `f_fwd`: f, and what the backward reads of it as `saved_*`
  Program backward;  ///< `f_bwd`: from saved values, parameters, outputs that it needs and `d_y` to `d_x`

  Program& part(Direction direction) {
    return direction == Direction::Forward ? forward : direction == Direction::Backward ? backward : whole;
  }
};

/// Every real tensor that is only read.
std::vector<Wrt> all_parameters(const Program& program);

/// Nothing after a report. `span` is the declaration's.
std::optional<Gradient> differentiate(const Program& program, const std::vector<Wrt>& wrt, Span span,
                                      Diagnostics& diagnostics);

}  // namespace coda
