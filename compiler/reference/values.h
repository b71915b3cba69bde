// Dense f64 blocks over numbered axes, and loops that broadcast them against each other.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "compiler/reference/workers.h"

namespace coda {

using AxisId = int;

/// Axes in storage order with their lengths.
struct Shape {
  std::vector<AxisId> axes;
  std::vector<int64_t> lengths;

  void add(AxisId axis, int64_t length);
  int position(AxisId axis) const;  ///< -1 if absent
  int64_t size() const;
};

/// Row-major values over a shape. Immutable once shared.
struct Values {
  Shape shape;
  std::vector<double> data;
};
using ValuesRef = std::shared_ptr<const Values>;

/// The union of the operands' axes, in order of appearance.
Shape broadcast_shape(std::span<const ValuesRef> operands);

/// Walks `shape` in row-major order, in parallel, and calls run(first, count, offsets, steps) for runs along the last
/// axis: element first + i of the shape reads operand k at offsets[k] + i * steps[k].
using Run = std::function<void(int64_t first, int64_t count, const int64_t* offsets, const int64_t* steps)>;
void walk(Workers& workers, const Shape& shape, std::span<const ValuesRef> operands, const Run& run);

/// The product of the operands, laid out over `shape` (which has all their axes), in order of the operands.
std::vector<double> product_over(Workers& workers, const Shape& shape, std::span<const ValuesRef> operands);

/// Element i along `axis` of the result is element index[i] of the argument; the axis becomes `new_axis`.
Values take(const Values& values, AxisId axis, const std::vector<int64_t>& index, AxisId new_axis);
/// Adds the argument's element j along `from` to element index[j] along `to`, the last axis of `into`. An argument
/// without that axis is added at every index.
void scatter_add(Values& into, const Values& values, AxisId from, const std::vector<int64_t>& index);
/// An axis replaced by axes whose row-major product it is; by none if its length is 1.
Values split_axis(Values values, AxisId axis, const Shape& parts);

}  // namespace coda
