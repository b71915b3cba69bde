// Where a program rounds, compares or otherwise decides about what was computed, a value within its error of the
// decision's edge may fall to either side. This evaluates an output with such values moved by their error, so that a
// result on the other side is told from a wrong one. docs/numerics.md says what is accepted.
#pragma once

#include <functional>
#include <vector>

#include "compiler/reference/reference.h"
#include "tools/codac/compare.h"

namespace coda {

/// The coarsest floating type that terms of a sum below `value` are rounded to by the program. Any of them may have
/// gone to its other neighbour, which no few ways of moving them can show.
std::optional<DType> coarsest_in_sums(const Graph& graph, NodeId value);

class OtherSide {
 public:
  /// `bound_of`: the error of a value computed in f32, given the coarsest type that was rounded to in the terms of a
  /// sum that it depends on, if any. `rows`: the first coordinates that will be asked for.
  using BoundOf = std::function<ErrorBound(std::optional<DType>)>;
  static Expected<OtherSide> make(const Program& program, const Bindings& dims, std::vector<ReferenceInput> inputs,
                                  int output, std::vector<int64_t> rows, const BoundOf& bound_of);

  /// In how many ways values are moved; 0 where the output decides about nothing that was computed.
  int ways() const;
  /// The output at these coordinates, moved one way.
  Expected<std::vector<double>> evaluate(int way, const std::vector<std::vector<int64_t>>& coordinates) const;

 private:
  /// A value that is computed, and decided about without any arithmetic in between; and how far off it may be.
  struct Edge {
    NodeId value;
    ErrorBound bound;
    std::vector<NamedDim> scale_dims;  ///< none, or the output's rows
    std::vector<float> scale;          ///< RMS of the finite values, of each row or of all
  };
  const Program* program_ = nullptr;
  Bindings dims_;
  std::vector<ReferenceInput> inputs_;
  int output_ = 0;
  std::vector<Edge> edges_;
};

}  // namespace coda
