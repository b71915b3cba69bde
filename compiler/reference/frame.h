// Where values are asked for: a frame binds each dimension to an axis and gives its coordinate at every position of
// that axis. Dimensions on one axis move together, so a frame is a grid, a list of points, or any product of lists.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/reference/values.h"

namespace coda {

using Coordinates = std::shared_ptr<const std::vector<int64_t>>;

struct Binding {
  AxisId axis = -1;
  Coordinates coordinates;
};

class Frame {
 public:
  const Binding& at(const std::string& dim) const { return bindings_.at(dim); }
  int64_t length(AxisId axis) const { return lengths_.at(axis); }
  const std::map<std::string, Binding>& bindings() const { return bindings_; }

  /// Binds `dim` to an axis, new or there already; the coordinates say its length.
  void bind(const std::string& dim, AxisId axis, Coordinates coordinates);
  void add_axis(AxisId axis, int64_t length) { lengths_[axis] = length; }

  /// The axes of these dimensions, in order of appearance.
  Shape shape_of(const std::vector<NamedDim>& dims) const;
  /// Only the bindings of these dimensions; those named in `except` are left out.
  Frame restricted_to(const std::vector<NamedDim>& dims, const std::set<std::string>& except = {}) const;
  /// The axes of `parts` made one, `merged`, whose positions are their row-major product.
  Frame with_merged(const Shape& parts, AxisId merged) const;
  /// `axis` replaced by `new_axis`, whose position i is position index[i] of the old one.
  Frame with_taken(AxisId axis, const std::vector<int64_t>& index, AxisId new_axis) const;
  /// A frame inside this one that rebinds some dimensions: what does not have them is evaluated here.
  Frame inner(const std::vector<NamedDim>& rebound) const;

  const Frame* outer = nullptr;
  std::set<std::string> rebound;
  mutable std::unordered_map<NodeId, ValuesRef> memo;

 private:
  std::map<std::string, Binding> bindings_;
  std::map<AxisId, int64_t> lengths_;
};

/// begin, begin + 1, … of the given count.
Coordinates iota_coordinates(int64_t begin, int64_t count);

}  // namespace coda
