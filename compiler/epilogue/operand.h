// A GEMM operand as a parameter with axes: the parameter itself, its dimensions renamed, or axes joined into one; or
// gathered from a parameter of two axes by another one.
#pragma once

#include <optional>
#include <vector>

#include "compiler/epilogue/affine.h"
#include "compiler/epilogue/epilogue.h"
#include "compiler/ops/product_types.h"

namespace coda {

struct OperandShape {
  int param = -1;
  int depth_axis = -1;
  std::vector<int> outer_depth_axes;
  std::vector<NamedDim> own;                 ///< dimensions besides the depth, in the order of their axes
  std::vector<std::vector<int>> axes;        ///< the axes of each, outermost first
  std::vector<int> batch_axes;               ///< of the dimensions that were taken out
  int gathered_axis = -1, index_param = -1;  ///< see GemmOperand; `axes` are then those of the index
  std::vector<int> outer_axes() const;
  /// Takes `batch` out of the own dimensions; false if one is missing.
  bool take_batch(const std::vector<NamedDim>& batch);
  GemmOperand operand() const;
};

/// Nothing if the node is anything else.
std::optional<OperandShape> operand_shape(const Program& program, const Graph& graph, NodeId node,
                                          const NamedDim& depth);

/// The map's dimensions, outermost first, if it is all of a dimension of this extent in mixed radix.
std::optional<std::vector<NamedDim>> whole_regrouping(const AffineMap& map, const Dim& extent);

}  // namespace coda
