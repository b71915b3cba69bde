#include "compiler/reference/values.h"

#include <algorithm>

namespace coda {

namespace {

constexpr int64_t kGrain = 1 << 14;  // elements a thread takes at a time: some 100 µs of work

/// The operand's stride along each axis of `shape`, 0 where it lacks the axis.
std::vector<int64_t> strides_in(const Shape& shape, const Shape& operand) {
  std::vector<int64_t> strides(shape.axes.size(), 0);
  int64_t stride = 1;
  for (size_t i = operand.axes.size(); i-- > 0;) {
    const int at = shape.position(operand.axes[i]);
    if (at >= 0) strides[at] = stride;
    stride *= operand.lengths[i];
  }
  return strides;
}

}  // namespace

void Shape::add(AxisId axis, int64_t length) {
  axes.push_back(axis);
  lengths.push_back(length);
}

int Shape::position(AxisId axis) const {
  const auto it = std::find(axes.begin(), axes.end(), axis);
  return it == axes.end() ? -1 : static_cast<int>(it - axes.begin());
}

int64_t Shape::size() const {
  int64_t size = 1;
  for (const int64_t length : lengths) size *= length;
  return size;
}

Shape broadcast_shape(std::span<const ValuesRef> operands) {
  Shape shape;
  for (const auto& operand : operands) {
    for (size_t i = 0; i < operand->shape.axes.size(); ++i) {
      if (shape.position(operand->shape.axes[i]) < 0) shape.add(operand->shape.axes[i], operand->shape.lengths[i]);
    }
  }
  return shape;
}

void walk(Workers& workers, const Shape& shape, std::span<const ValuesRef> operands, const Run& run) {
  const int64_t size = shape.size();
  const size_t rank = shape.axes.size(), count = operands.size();
  std::vector<std::vector<int64_t>> strides;
  std::vector<int64_t> steps(count, 0);
  for (size_t k = 0; k < count; ++k) {
    strides.push_back(strides_in(shape, operands[k]->shape));
    if (rank > 0) steps[k] = strides[k][rank - 1];
  }
  const int64_t inner = rank > 0 ? shape.lengths[rank - 1] : 1;
  workers.for_ranges(size, kGrain, [&](int64_t begin, int64_t end) {
    std::vector<int64_t> offsets(count);
    while (begin < end) {
      const int64_t length = std::min(end, (begin / inner + 1) * inner) - begin;
      for (size_t k = 0; k < count; ++k) {
        offsets[k] = 0;
        int64_t rest = begin;
        for (size_t i = rank; i-- > 0;) {
          offsets[k] += rest % shape.lengths[i] * strides[k][i];
          rest /= shape.lengths[i];
        }
      }
      run(begin, length, offsets.data(), steps.data());
      begin += length;
    }
  });
}

std::vector<double> product_over(Workers& workers, const Shape& shape, std::span<const ValuesRef> operands) {
  std::vector<double> product(static_cast<size_t>(shape.size()), 1.0);
  walk(workers, shape, operands, [&](int64_t first, int64_t count, const int64_t* offsets, const int64_t* steps) {
    for (size_t k = 0; k < operands.size(); ++k) {
      const double* source = operands[k]->data.data() + offsets[k];
      double* out = product.data() + first;
      for (int64_t i = 0; i < count; ++i) out[i] = k == 0 ? source[i * steps[k]] : out[i] * source[i * steps[k]];
    }
  });
  return product;
}

Values take(const Values& values, AxisId axis, const std::vector<int64_t>& index, AxisId new_axis) {
  const int at = values.shape.position(axis);
  Values result{values.shape, {}};
  if (at < 0) {
    result.data = values.data;
    return result;
  }
  result.shape.axes[at] = new_axis;
  result.shape.lengths[at] = static_cast<int64_t>(index.size());
  int64_t inner = 1, outer = 1;
  for (size_t i = 0; i < values.shape.axes.size(); ++i) {
    (static_cast<int>(i) < at ? outer : inner) *= static_cast<int>(i) == at ? 1 : values.shape.lengths[i];
  }
  const int64_t length = values.shape.lengths[at];
  result.data.reserve(static_cast<size_t>(outer * inner) * index.size());
  for (int64_t o = 0; o < outer; ++o) {
    for (const int64_t i : index) {
      const auto from = values.data.begin() + (o * length + i) * inner;
      result.data.insert(result.data.end(), from, from + inner);
    }
  }
  return result;
}

void scatter_add(Values& into, const Values& values, AxisId from, const std::vector<int64_t>& index) {
  const int64_t length = into.shape.lengths.back();
  const int64_t outer = length == 0 ? 0 : into.shape.size() / length;
  // The argument's strides over the outer axes of `into`, and over its own scattered axis.
  Shape outer_shape = into.shape;
  outer_shape.axes.back() = from;
  const std::vector<int64_t> strides = strides_in(outer_shape, values.shape);
  for (int64_t o = 0; o < outer; ++o) {
    int64_t offset = 0, rest = o;
    for (size_t i = into.shape.axes.size() - 1; i-- > 0;) {
      offset += rest % into.shape.lengths[i] * strides[i];
      rest /= into.shape.lengths[i];
    }
    for (size_t j = 0; j < index.size(); ++j) {
      into.data[o * length + index[j]] += values.data[offset + static_cast<int64_t>(j) * strides.back()];
    }
  }
}

Values split_axis(Values values, AxisId axis, const Shape& parts) {
  const int at = values.shape.position(axis);
  if (at < 0) return values;
  auto& [axes, lengths] = values.shape;
  axes.erase(axes.begin() + at);
  lengths.erase(lengths.begin() + at);
  axes.insert(axes.begin() + at, parts.axes.begin(), parts.axes.end());
  lengths.insert(lengths.begin() + at, parts.lengths.begin(), parts.lengths.end());
  return values;
}

}  // namespace coda
