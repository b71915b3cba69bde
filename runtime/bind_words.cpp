// The argument block, the geometry and the workspaces of a launch, from arguments that have been checked.
#include <bit>
#include <cmath>

#include "runtime/bind.h"

namespace coda {

namespace {

std::string quoted(const std::string& name) { return "'" + name + "'"; }

int64_t ceil_div(int64_t a, int64_t b) { return a / b + (a % b != 0); }

}  // namespace

Status LaunchPlan::scalar_word(int param, const Argument& argument, int64_t& word) const {
  const ParamSpec& spec = image_->params[param];
  const DTypeInfo& type = info(spec.dtype);
  double value = spec.default_value.value_or(0);
  std::optional<int64_t> integer;
  if (const auto* given = std::get_if<int64_t>(&argument)) {
    integer = *given;
    value = static_cast<double>(*given);
  } else if (const auto* real = std::get_if<double>(&argument)) {
    value = *real;
  } else if (!std::holds_alternative<std::monostate>(argument)) {
    return argument_error(spec.name, "a number is expected, a tensor was given");
  } else if (!spec.default_value) {
    return argument_error(spec.name, "it is not given and has no default");
  }
  if (type.num_class == NumClass::Real) {
    const auto narrow = static_cast<float>(value);
    if (std::isfinite(value) && !std::isfinite(narrow)) return argument_error(spec.name, "its value does not fit f32");
    word = std::bit_cast<uint32_t>(narrow);
    return {};
  }
  if (!integer) {
    if (!(value >= -0x1p63 && value < 0x1p63) || value != std::floor(value)) {
      return argument_error(spec.name, "its value " + std::to_string(value) + " is not a whole number, expected " +
                                           std::string(type.name));
    }
    integer = static_cast<int64_t>(value);
  }
  struct Range {
    DType dtype;
    int64_t low, high;
  };
  static constexpr Range kRanges[] = {{DType::I32, INT32_MIN, INT32_MAX},
                                      {DType::U8, 0, UINT8_MAX},
                                      {DType::I8, INT8_MIN, INT8_MAX},
                                      {DType::Bool, 0, 1}};
  for (const Range& range : kRanges) {
    if (range.dtype == spec.dtype && (*integer < range.low || *integer > range.high)) {
      return argument_error(spec.name,
                            "its value " + std::to_string(*integer) + " does not fit " + std::string(type.name));
    }
  }
  word = *integer;
  return {};
}

Status LaunchPlan::fill_words(std::span<const Argument> arguments, Binding& binding) const {
  binding.words.assign(image_->words.size(), 0);
  binding.met_by_form = met_by_form(arguments, binding);
  for (size_t i = 0; i < image_->words.size(); ++i) {
    const WordSpec& word = image_->words[i];
    int64_t& value = binding.words[i];
    switch (word.kind) {
      case WordSpec::Kind::Pointer:
        value = reinterpret_cast<intptr_t>(std::get<TensorView>(arguments[word.param]).data);
        break;
      case WordSpec::Kind::Stride:
        value = std::get<TensorView>(arguments[word.param]).strides[word.axis];
        break;
      case WordSpec::Kind::Extent: {
        const auto extent = word_dims_[i].evaluate(binding.symbols);
        if (!extent) {
          return {Code::InvalidArgument, "kernel " + quoted(image_->name) + ": " + word.dim.text() +
                                             " is no whole number with " + values_text(word.dim, binding)};
        }
        value = *extent;
        break;
      }
      case WordSpec::Kind::Scalar:
        if (Status status = scalar_word(word.param, arguments[word.param], value); !status.ok()) return status;
        break;
      case WordSpec::Kind::Conditions:
        value = condition_bits(arguments, binding);
        break;
      case WordSpec::Kind::Workspace:
      case WordSpec::Kind::TensorMaps:
        break;  // set_workspaces(), set_tensor_map_bits()
    }
  }
  return {};
}

Status LaunchPlan::refill(std::span<const Argument> arguments, Binding& binding) const {
  for (size_t i = 0; i < image_->words.size(); ++i) {
    const WordSpec& word = image_->words[i];
    int64_t& value = binding.words[i];
    if (word.kind == WordSpec::Kind::Pointer) {
      value = reinterpret_cast<intptr_t>(std::get<TensorView>(arguments[word.param]).data);
    } else if (word.kind == WordSpec::Kind::Scalar) {
      if (Status status = scalar_word(word.param, arguments[word.param], value); !status.ok()) return status;
    } else if (word.kind == WordSpec::Kind::Conditions) {
      value = condition_bits(arguments, binding);
    }
  }
  return {};
}

uint64_t LaunchPlan::met_by_form(std::span<const Argument> arguments, const Binding& binding) const {
  uint64_t bits = 0;
  for (size_t i = 0; i < image_->conditions.size(); ++i) {
    const ConditionSpec& condition = image_->conditions[i];
    const auto& view = std::get<TensorView>(arguments[condition.param]);
    const int64_t element_bits = info(view.dtype).bits;
    bool good = true;
    for (int axis = 0; axis < view.shape.size(); ++axis) {
      if (view.shape[axis] <= 1) continue;
      good = good && (axis == condition.unit_axis ? view.strides[axis] == 1
                                                  : view.strides[axis] * element_bits % (condition.alignment * 8) == 0);
    }
    for (const DimProgram& extent : condition_extents_[i]) {
      const auto value = extent.evaluate(binding.symbols);
      good = good && value && *value % condition.extent_multiple == 0;
    }
    bits |= uint64_t{good} << i;
  }
  return bits;
}

int64_t LaunchPlan::condition_bits(std::span<const Argument> arguments, const Binding& binding) const {
  uint64_t bits = binding.met_by_form;
  for (size_t i = 0; i < image_->conditions.size(); ++i) {
    const ConditionSpec& condition = image_->conditions[i];
    const auto address = reinterpret_cast<uintptr_t>(std::get<TensorView>(arguments[condition.param]).data);
    if (address % static_cast<uint64_t>(condition.alignment) != 0) bits &= ~(uint64_t{1} << i);
  }
  return static_cast<int64_t>(bits);
}

Status LaunchPlan::fill_geometry(std::span<const Argument> arguments, Binding& binding) const {
  const KernelImage& image = *image_;
  auto bad = [&](const Dim& dim) {
    return Status(Code::InvalidArgument, "kernel " + quoted(image.name) + ": " + dim.text() +
                                             " is no possible extent with " + values_text(dim, binding));
  };
  const auto rows = rows_.evaluate(binding.symbols), depth = depth_.evaluate(binding.symbols);
  if (!rows || *rows < 0) return bad(image.rows);
  if (!depth || *depth < 0) return bad(image.depth);
  binding.rows = *rows;
  binding.depth = *depth;
  binding.region_columns.clear();
  int64_t column_tiles = region_columns_.empty() ? 1 : 0;  // without regions a tile is whole rows
  for (size_t i = 0; i < region_columns_.size(); ++i) {
    const auto columns = region_columns_[i].evaluate(binding.symbols);
    if (!columns || *columns < 0) return bad(image.region_columns[i]);
    binding.region_columns.push_back(*columns);
    const int tile = image.tile_columns / image.region_segments[i];
    if (tile > 0) column_tiles += ceil_div(*columns, tile);
  }
  binding.row_tiles =
      image.tile_rows > 0 ? ceil_div(ceil_div(*rows, image.tile_rows), image.cluster) * image.cluster : 0;
  if (__builtin_mul_overflow(binding.row_tiles, column_tiles, &binding.tiles)) return bad(image.rows);

  binding.has_output = false;
  for (size_t i = 0; i < image.params.size(); ++i) {
    if (!image.params[i].is_output()) continue;
    binding.has_output = binding.has_output || *element_count(std::get<TensorView>(arguments[i]).shape) > 0;
  }

  binding.workspace_bytes.clear();
  for (size_t i = 0; i < workspaces_.size(); ++i) {
    const WorkspaceSpec& spec = image.workspaces[i];
    auto bytes = workspaces_[i].bytes.evaluate(binding.symbols);
    int64_t tiles = 0;
    if (spec.tile_rows > 0 && spec.tile_columns > 0) {
      const auto height = workspaces_[i].rows.evaluate(binding.symbols);
      const auto width = workspaces_[i].columns.evaluate(binding.symbols);
      if (!height || !width || *height < 0 || *width < 0 ||
          __builtin_mul_overflow(ceil_div(*height, spec.tile_rows), ceil_div(*width, spec.tile_columns), &tiles) ||
          __builtin_mul_overflow(tiles, spec.tile_bytes, &tiles)) {
        return bad(spec.rows);
      }
    }
    if (!bytes || *bytes < 0 || __builtin_add_overflow(*bytes, tiles, &*bytes)) return bad(spec.bytes);
    binding.workspace_bytes.push_back(*bytes);
  }
  return {};
}

void LaunchPlan::set_workspaces(std::span<void* const> addresses, Binding& binding) const {
  for (size_t i = 0; i < image_->words.size(); ++i) {
    if (image_->words[i].kind != WordSpec::Kind::Workspace) continue;
    binding.words[i] = reinterpret_cast<intptr_t>(addresses[static_cast<size_t>(image_->words[i].param)]);
  }
}

void LaunchPlan::set_tensor_map_bits(uint64_t bits, Binding& binding) const {
  for (size_t i = 0; i < image_->words.size(); ++i) {
    if (image_->words[i].kind == WordSpec::Kind::TensorMaps) binding.words[i] = static_cast<int64_t>(bits);
  }
}

}  // namespace coda
