#include "compiler/reference/frame.h"

#include <numeric>

namespace coda {

Coordinates iota_coordinates(int64_t begin, int64_t count) {
  std::vector<int64_t> values(static_cast<size_t>(count));
  std::iota(values.begin(), values.end(), begin);
  return std::make_shared<const std::vector<int64_t>>(std::move(values));
}

void Frame::bind(const std::string& dim, AxisId axis, Coordinates coordinates) {
  lengths_[axis] = static_cast<int64_t>(coordinates->size());
  bindings_[dim] = {axis, std::move(coordinates)};
}

Shape Frame::shape_of(const std::vector<NamedDim>& dims) const {
  Shape shape;
  for (const auto& dim : dims) {
    const AxisId axis = at(dim.name).axis;
    if (shape.position(axis) < 0) shape.add(axis, length(axis));
  }
  return shape;
}

Frame Frame::restricted_to(const std::vector<NamedDim>& dims, const std::set<std::string>& except) const {
  Frame frame;
  frame.lengths_ = lengths_;
  for (const auto& dim : dims) {
    if (!except.contains(dim.name)) frame.bindings_[dim.name] = at(dim.name);
  }
  return frame;
}

Frame Frame::with_merged(const Shape& parts, AxisId merged) const {
  Frame frame;
  frame.lengths_ = lengths_;
  const int64_t size = parts.size();
  frame.lengths_[merged] = size;
  for (const auto& [dim, binding] : bindings_) {
    const int part = parts.position(binding.axis);
    if (part < 0) {
      frame.bindings_[dim] = binding;
      continue;
    }
    int64_t inner = 1;
    for (size_t i = part + 1; i < parts.lengths.size(); ++i) inner *= parts.lengths[i];
    std::vector<int64_t> coordinates(static_cast<size_t>(size));
    for (int64_t i = 0; i < size; ++i) coordinates[i] = (*binding.coordinates)[i / inner % parts.lengths[part]];
    frame.bindings_[dim] = {merged, std::make_shared<const std::vector<int64_t>>(std::move(coordinates))};
  }
  return frame;
}

Frame Frame::with_taken(AxisId axis, const std::vector<int64_t>& index, AxisId new_axis) const {
  Frame frame;
  frame.lengths_ = lengths_;
  frame.lengths_[new_axis] = static_cast<int64_t>(index.size());
  for (const auto& [dim, binding] : bindings_) {
    if (binding.axis != axis) {
      frame.bindings_[dim] = binding;
      continue;
    }
    std::vector<int64_t> coordinates;
    coordinates.reserve(index.size());
    for (const int64_t i : index) coordinates.push_back((*binding.coordinates)[i]);
    frame.bindings_[dim] = {new_axis, std::make_shared<const std::vector<int64_t>>(std::move(coordinates))};
  }
  return frame;
}

Frame Frame::inner(const std::vector<NamedDim>& dims) const {
  Frame frame;
  frame.bindings_ = bindings_;
  frame.lengths_ = lengths_;
  frame.outer = this;
  for (const auto& dim : dims) frame.rebound.insert(dim.name);
  return frame;
}

}  // namespace coda
