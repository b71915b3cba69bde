// The checks of a launch, in the order in which a mistake is easiest to understand.
#include "runtime/bind.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace coda {

namespace {

std::string quoted(const std::string& name) { return "'" + name + "'"; }

Status mismatch(const std::string& name, const std::string& text) {
  return {Code::InvalidArgument, "argument " + quoted(name) + ": " + text};
}

std::string place(int device) {
  return device == kHostDevice ? "host memory" : "memory of CUDA device " + std::to_string(device);
}

std::string fact_text(const FactSpec& fact) {
  return fact.left.text() + (fact.modulus ? " % " + fact.modulus->text() : "") + " " + fact.relation + " " +
         fact.right.text();
}

bool holds(int64_t left, const std::string& relation, int64_t right) {
  if (relation == "=") return left == right;
  if (relation == "!=") return left != right;
  if (relation == "<") return left < right;
  if (relation == "<=") return left <= right;
  if (relation == ">") return left > right;
  return left >= right;
}

/// Whether two elements of the view may share memory: its axes, smallest stride first, must each step over all of the
/// smaller ones.
bool overlaps_itself(const TensorView& view) {
  std::array<int, kMaxRank> order{};
  int count = 0;
  for (int axis = 0; axis < view.shape.size(); ++axis) {
    if (view.shape[axis] > 1) order[static_cast<size_t>(count++)] = axis;
  }
  std::sort(order.begin(), order.begin() + count, [&](int a, int b) { return view.strides[a] < view.strides[b]; });
  int64_t reach = 0;  // largest offset of the smaller axes
  for (int i = 0; i < count; ++i) {
    const int axis = order[static_cast<size_t>(i)];
    if (view.strides[axis] <= reach) return true;
    reach += (view.shape[axis] - 1) * view.strides[axis];  // address_range() has shown that this fits
  }
  return false;
}

/// Rows of two views that interleave: same outermost stride, and the parts of a row apart. So q, k and v may be
/// column ranges of one buffer.
bool rows_are_apart(const TensorView& a, const TensorView& b) {
  auto row_bytes = [](const TensorView& view, int64_t& pitch) -> std::optional<int64_t> {
    int outer = -1;
    for (int axis = 0; axis < view.shape.size(); ++axis) {
      if (view.shape[axis] > 1 && (outer < 0 || view.strides[axis] > view.strides[outer])) outer = axis;
    }
    if (outer < 0 || info(view.dtype).bits % 8 != 0) return std::nullopt;
    TensorView row = view;
    row.shape[outer] = 1;
    const auto range = address_range(row);
    if (!range || __builtin_mul_overflow(view.strides[outer], int64_t{info(view.dtype).bits / 8}, &pitch)) {
      return std::nullopt;
    }
    return static_cast<int64_t>(range->end - range->begin);
  };
  int64_t pitch_a = 0, pitch_b = 0;
  const auto width_a = row_bytes(a, pitch_a), width_b = row_bytes(b, pitch_b);
  if (!width_a || !width_b || pitch_a != pitch_b || pitch_a <= 0) return false;
  const auto base_a = reinterpret_cast<intptr_t>(a.data), base_b = reinterpret_cast<intptr_t>(b.data);
  const int64_t distance = ((base_b - base_a) % pitch_a + pitch_a) % pitch_a;
  return distance >= *width_a && distance + *width_b <= pitch_a;
}

bool is_output(const ParamSpec& param) {
  return param.role == ParamSpec::Role::Out || param.role == ParamSpec::Role::InOut;
}

int64_t ceil_div(int64_t a, int64_t b) { return a / b + (a % b != 0); }

}  // namespace

Status LaunchPlan::bind(std::span<const Argument> arguments, int device, Binding& binding) const {
  const auto& params = image_->params;
  if (arguments.size() != params.size()) {
    return {Code::InvalidArgument, "kernel " + quoted(image_->name) + " takes " + std::to_string(params.size()) +
                                       " arguments, " + std::to_string(arguments.size()) + " were given"};
  }
  binding.ranges.assign(params.size(), {});
  for (size_t i = 0; i < params.size(); ++i) {
    if (params[i].role == ParamSpec::Role::Scalar) continue;
    if (Status status = check_tensor(static_cast<int>(i), arguments[i], device, binding); !status.ok()) return status;
  }
  if (Status status = solve_symbols(arguments, binding); !status.ok()) return status;
  if (Status status = check_shapes(arguments, binding); !status.ok()) return status;
  if (Status status = check_facts(binding); !status.ok()) return status;
  if (Status status = check_overlap(arguments, binding); !status.ok()) return status;
  if (Status status = fill_words(arguments, binding); !status.ok()) return status;
  return fill_geometry(arguments, binding);
}

Status LaunchPlan::check_tensor(int param, const Argument& argument, int device, Binding& binding) const {
  const ParamSpec& spec = image_->params[param];
  const auto* view = std::get_if<TensorView>(&argument);
  if (!view) return mismatch(spec.name, "a tensor is expected, none was given");
  if (view->dtype != spec.dtype) {
    return mismatch(spec.name, "its type is " + std::string(info(view->dtype).name) + ", expected " +
                                   std::string(info(spec.dtype).name));
  }
  if (view->shape.size() != static_cast<int>(spec.extents.size())) {
    std::string expected;
    for (const Dim& dim : spec.extents) expected += (expected.empty() ? "" : ", ") + dim.text();
    return mismatch(spec.name, "its shape is " + to_text(view->shape) + ", expected [" + expected + "]");
  }
  if (view->strides.size() != view->shape.size()) {
    return mismatch(spec.name, std::to_string(view->strides.size()) + " strides were given for " +
                                   std::to_string(view->shape.size()) + " axes");
  }
  if (view->device != device) {
    return mismatch(spec.name, "it is in " + place(view->device) + ", expected in " + place(device));
  }
  const auto range = element_count(view->shape) ? address_range(*view) : std::nullopt;
  if (!range) {
    return mismatch(spec.name, "shape " + to_text(view->shape) + " with strides " + to_text(view->strides) +
                                   " exceeds the address space");
  }
  binding.ranges[param] = *range;
  return range->begin == range->end ? Status() : check_layout(param, *view);
}

Status LaunchPlan::check_layout(int param, const TensorView& view) const {
  const ParamSpec& spec = image_->params[param];
  if (!view.data) return mismatch(spec.name, "its address is null, though it has elements");
  const int bits = info(spec.dtype).bits;
  if (bits > 8 && reinterpret_cast<uintptr_t>(view.data) % (static_cast<size_t>(bits) / 8) != 0) {
    return mismatch(spec.name, "its address is not a multiple of the " + std::to_string(bits / 8) + " bytes of " +
                                   std::string(info(spec.dtype).name));
  }
  for (int axis = 0; axis < view.shape.size(); ++axis) {
    if (view.shape[axis] > 1 && view.strides[axis] < 0) {
      return mismatch(spec.name, "axis " + std::to_string(axis) + " has the negative stride " +
                                     std::to_string(view.strides[axis]) + "; copy the tensor");
    }
  }
  const int last = view.shape.size() - 1;
  if (last >= 0 && view.shape[last] > 1 && view.strides[last] != 1 && !any_last_stride_[param]) {
    return mismatch(spec.name, "the stride of its last axis is " + std::to_string(view.strides[last]) +
                                   ", expected 1; a column-major tensor is declared as it lies in memory, and .T used");
  }
  if (is_output(spec) && overlaps_itself(view)) {
    return mismatch(spec.name,
                    "it is written, but with strides " + to_text(view.strides) + " some of its elements share memory");
  }
  return {};
}

Status LaunchPlan::solve_symbols(std::span<const Argument> arguments, Binding& binding) const {
  binding.symbols.assign(symbols_.size(), 0);
  binding.sources.assign(symbols_.size(), {});
  for (size_t i = 0; i < symbols_.size(); ++i) binding.symbols[i] = bound_[i].value_or(0);
  for (const Solve& solve : solves_) {
    bool found = false;
    for (const Candidate& candidate : solve.candidates) {
      const auto slope = candidate.slope.evaluate(binding.symbols), rest = candidate.rest.evaluate(binding.symbols);
      if (!slope || !rest || *slope == 0) continue;
      const Binding::Source source = candidate.source;
      const int64_t given = source.param < 0 ? 0 : std::get<TensorView>(arguments[source.param]).shape[source.axis];
      int64_t product = 0;
      const bool fits = !__builtin_sub_overflow(given, *rest, &product) && *slope != -1;
      const bool exact = *slope == -1 ? !__builtin_sub_overflow(*rest, given, &product) : fits && product % *slope == 0;
      const int64_t value = *slope == -1 ? product : exact ? product / *slope : -1;
      if (!exact || value < 0) {
        if (source.param < 0) {
          return {Code::InvalidArgument, "kernel " + quoted(image_->name) + ": no whole number " +
                                             symbols_[solve.symbol] + " meets the kernel's facts"};
        }
        const ParamSpec& spec = image_->params[source.param];
        return mismatch(spec.name, "axis " + std::to_string(source.axis) + " is " + std::to_string(given) +
                                       ", but no whole number " + symbols_[solve.symbol] + " makes " +
                                       spec.extents[source.axis].text() + " that");
      }
      binding.symbols[solve.symbol] = value;
      binding.sources[solve.symbol] = source;
      found = true;
      break;
    }
    if (!found) {
      return {Code::InvalidArgument, "kernel " + quoted(image_->name) + ": these shapes do not determine " +
                                         symbols_[solve.symbol] + ", since another dimension is 0"};
    }
  }
  return {};
}

std::string LaunchPlan::symbol_text(int symbol, const Binding& binding) const {
  std::string text = symbols_[symbol] + " = " + std::to_string(binding.symbols[symbol]);
  const Binding::Source source = binding.sources[symbol];
  if (bound_[symbol]) return text + " (compiled in or given)";
  if (source.param < 0) return text + " (a fact)";
  return text + " (from axis " + std::to_string(source.axis) + " of " + quoted(image_->params[source.param].name) + ")";
}

std::string LaunchPlan::values_text(const Dim& dim, const Binding& binding) const {
  std::string text;
  for (const std::string& name : dim.symbols()) {
    const auto it = std::find(symbols_.begin(), symbols_.end(), name);
    text += (text.empty() ? "" : ", ") + symbol_text(static_cast<int>(it - symbols_.begin()), binding);
  }
  return text;
}

Status LaunchPlan::check_shapes(std::span<const Argument> arguments, const Binding& binding) const {
  for (size_t p = 0; p < extents_.size(); ++p) {
    for (size_t a = 0; a < extents_[p].size(); ++a) {
      const auto expected = extents_[p][a].evaluate(binding.symbols);
      const int64_t given = std::get<TensorView>(arguments[p]).shape[static_cast<int>(a)];
      if (expected && *expected == given) continue;
      const Dim& dim = image_->params[p].extents[a];
      const std::string values = values_text(dim, binding);
      const std::string axis = "axis " + std::to_string(a) + " is " + std::to_string(given);
      if (!expected)
        return mismatch(image_->params[p].name, axis + ", but " + dim.text() + " is no whole number with " + values);
      if (values.empty()) return mismatch(image_->params[p].name, axis + ", expected " + dim.text());
      const bool plain = dim.symbols().size() == 1 && dim.symbols().contains(dim.text());
      return mismatch(
          image_->params[p].name,
          axis + ", expected " + (plain ? values : dim.text() + " = " + std::to_string(*expected) + " with " + values));
    }
  }
  return {};
}

Status LaunchPlan::check_facts(const Binding& binding) const {
  for (size_t i = 0; i < facts_.size(); ++i) {
    auto left = facts_[i].left.evaluate(binding.symbols);
    const auto right = facts_[i].right.evaluate(binding.symbols);
    if (left && facts_[i].modulus) {
      const auto modulus = facts_[i].modulus->evaluate(binding.symbols);
      left = modulus && *modulus > 0 ? std::optional((*left % *modulus + *modulus) % *modulus) : std::nullopt;
    }
    const FactSpec& fact = image_->facts[i];
    if (left && right && holds(*left, fact.relation, *right)) continue;
    std::string values = values_text(fact.left, binding);
    if (fact.right.symbols() != fact.left.symbols() && !fact.right.symbols().empty()) {
      values += (values.empty() ? "" : ", ") + values_text(fact.right, binding);
    }
    return {Code::InvalidArgument, "kernel " + quoted(image_->name) + " requires " + fact_text(fact) +
                                       (values.empty() ? "" : ", but " + values)};
  }
  return {};
}

Status LaunchPlan::check_overlap(std::span<const Argument> arguments, const Binding& binding) const {
  const auto& params = image_->params;
  for (size_t i = 0; i < params.size(); ++i) {
    if (!is_output(params[i])) continue;
    for (size_t j = 0; j < params.size(); ++j) {
      const bool pair_done = is_output(params[j]) && j <= i;
      if (pair_done || !binding.ranges[i].overlaps(binding.ranges[j])) continue;
      if (rows_are_apart(std::get<TensorView>(arguments[i]), std::get<TensorView>(arguments[j]))) continue;
      return mismatch(params[i].name, "it is written, but shares memory with argument " + quoted(params[j].name));
    }
  }
  return {};
}

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
    return mismatch(spec.name, "a number is expected, a tensor was given");
  } else if (!spec.default_value) {
    return mismatch(spec.name, "it is not given and has no default");
  }
  if (type.num_class == NumClass::Real) {
    const auto narrow = static_cast<float>(value);
    if (std::isfinite(value) && !std::isfinite(narrow)) return mismatch(spec.name, "its value does not fit f32");
    word = std::bit_cast<uint32_t>(narrow);
    return {};
  }
  if (!integer) {
    if (!(value >= -0x1p63 && value < 0x1p63) || value != std::floor(value)) {
      return mismatch(spec.name, "its value " + std::to_string(value) + " is not a whole number, expected " +
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
      return mismatch(spec.name, "its value " + std::to_string(*integer) + " does not fit " + std::string(type.name));
    }
  }
  word = *integer;
  return {};
}

Status LaunchPlan::fill_words(std::span<const Argument> arguments, Binding& binding) const {
  binding.words.assign(image_->words.size(), 0);
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

int64_t LaunchPlan::condition_bits(std::span<const Argument> arguments, const Binding& binding) const {
  uint64_t bits = 0;
  for (size_t i = 0; i < image_->conditions.size(); ++i) {
    const ConditionSpec& condition = image_->conditions[i];
    const auto& view = std::get<TensorView>(arguments[condition.param]);
    const int64_t element_bits = info(view.dtype).bits;
    bool good = reinterpret_cast<uintptr_t>(view.data) % static_cast<uint64_t>(condition.alignment) == 0;
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
  int64_t column_tiles = 0;
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
    if (!is_output(image.params[i])) continue;
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
