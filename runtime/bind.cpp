// The checks of a launch, in the order in which a mistake is easiest to understand.
#include "runtime/bind.h"

#include <algorithm>

#include "runtime/layout.h"

namespace coda {

namespace {

std::string quoted(const std::string& name) { return "'" + name + "'"; }

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

Status out_of_range(const std::string& name, const TensorView& view) {
  return argument_error(
      name, "shape " + to_text(view.shape) + " with strides " + to_text(view.strides) + " exceeds the address space");
}

/// The view of all memory that a parameter's layout takes.
TensorView with_padding(const ParamSpec& spec, const TensorView& view) {
  const ParamLayoutInfo* layout = find_layout(spec.layout);
  if (layout == nullptr || view.shape.size() != 2 || element_count(view.shape).value_or(0) == 0) return view;
  TensorView whole = view;
  whole.shape = {padded(view.shape[0], layout->rows), padded(view.shape[1], layout->columns)};
  return whole;
}

}  // namespace

Status argument_error(const std::string& name, const std::string& text) {
  return {Code::InvalidArgument, "argument " + quoted(name) + ": " + text};
}

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
  return fill(arguments, binding);
}

Status LaunchPlan::rebind(std::span<const Argument> arguments, Binding& binding) const {
  for (size_t i = 0; i < arguments.size(); ++i) {
    const auto* view = std::get_if<TensorView>(&arguments[i]);
    if (!view || binding.ranges[i].begin == binding.ranges[i].end) continue;
    if (Status status = check_address(static_cast<int>(i), *view); !status.ok()) return status;
    const auto range = address_range(with_padding(image_->params[i], *view));
    if (!range) return out_of_range(image_->params[i].name, *view);
    binding.ranges[i] = *range;
  }
  if (Status status = check_overlap(arguments, binding); !status.ok()) return status;
  return refill(arguments, binding);
}

Status LaunchPlan::fill(std::span<const Argument> arguments, Binding& binding) const {
  if (Status status = fill_words(arguments, binding); !status.ok()) return status;
  return fill_geometry(arguments, binding);
}

Status LaunchPlan::check_tensor(int param, const Argument& argument, int device, Binding& binding) const {
  const ParamSpec& spec = image_->params[param];
  const auto* view = std::get_if<TensorView>(&argument);
  if (!view) return argument_error(spec.name, "a tensor is expected, none was given");
  if (view->dtype != spec.dtype) {
    return argument_error(spec.name, "its type is " + std::string(info(view->dtype).name) + ", expected " +
                                         std::string(info(spec.dtype).name));
  }
  if (view->shape.size() != static_cast<int>(spec.extents.size())) {
    std::string expected;
    for (const Dim& dim : spec.extents) expected += (expected.empty() ? "" : ", ") + dim.text();
    return argument_error(spec.name, "its shape is " + to_text(view->shape) + ", expected [" + expected + "]");
  }
  if (view->strides.size() != view->shape.size()) {
    return argument_error(spec.name, std::to_string(view->strides.size()) + " strides were given for " +
                                         std::to_string(view->shape.size()) + " axes");
  }
  if (view->device != device) {
    return argument_error(spec.name, "it is in " + place(view->device) + ", expected in " + place(device));
  }
  const auto range = element_count(view->shape) ? address_range(with_padding(spec, *view)) : std::nullopt;
  if (!range) return out_of_range(spec.name, *view);
  binding.ranges[param] = *range;
  if (range->begin == range->end) return {};
  if (Status status = check_address(param, *view); !status.ok()) return status;
  return check_layout(param, *view);
}

Status LaunchPlan::check_address(int param, const TensorView& view) const {
  const ParamSpec& spec = image_->params[param];
  if (!view.data) return argument_error(spec.name, "its address is null, though it has elements");
  const int bits = info(spec.dtype).bits;
  if (bits > 8 && reinterpret_cast<uintptr_t>(view.data) % (static_cast<size_t>(bits) / 8) != 0) {
    return argument_error(spec.name, "its address is not a multiple of the " + std::to_string(bits / 8) + " bytes of " +
                                         std::string(info(spec.dtype).name));
  }
  return {};
}

Status LaunchPlan::check_layout(int param, const TensorView& view) const {
  const ParamSpec& spec = image_->params[param];
  for (int axis = 0; axis < view.shape.size(); ++axis) {
    if (view.shape[axis] > 1 && view.strides[axis] < 0) {
      return argument_error(spec.name, "axis " + std::to_string(axis) + " has the negative stride " +
                                           std::to_string(view.strides[axis]) + "; copy the tensor");
    }
  }
  if (const ParamLayoutInfo* layout = find_layout(spec.layout)) {
    const int64_t least = padded(view.shape[1], layout->columns);
    if (view.strides[1] == 1 && view.strides[0] >= least && view.strides[0] % layout->columns == 0) return {};
    return argument_error(spec.name, "its layout is " + std::string(layout->name) + ", and its strides are " +
                                         to_text(view.strides) + ", expected [" + std::to_string(least) +
                                         ", 1]: the matrix is padded to whole blocks of " +
                                         std::to_string(layout->rows) + " x " + std::to_string(layout->columns));
  }
  const int last = view.shape.size() - 1;
  if (last >= 0 && view.shape[last] > 1 && view.strides[last] != 1 && !any_last_stride_[param]) {
    return argument_error(spec.name,
                          "the stride of its last axis is " + std::to_string(view.strides[last]) +
                              ", expected 1; a column-major tensor is declared as it lies in memory, and .T used");
  }
  if (spec.is_output() && overlaps_itself(view)) {
    return argument_error(
        spec.name, "it is written, but with strides " + to_text(view.strides) + " some of its elements share memory");
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
        return argument_error(spec.name, "axis " + std::to_string(source.axis) + " is " + std::to_string(given) +
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
        return argument_error(image_->params[p].name,
                              axis + ", but " + dim.text() + " is no whole number with " + values);
      if (values.empty()) return argument_error(image_->params[p].name, axis + ", expected " + dim.text());
      const bool plain = dim.symbols().size() == 1 && dim.symbols().contains(dim.text());
      return argument_error(
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
    if (!params[i].is_output()) continue;
    for (size_t j = 0; j < params.size(); ++j) {
      const bool pair_done = params[j].is_output() && j <= i;
      if (pair_done || !binding.ranges[i].overlaps(binding.ranges[j])) continue;
      const bool plain = params[i].layout == ParamLayout::RowMajor && params[j].layout == ParamLayout::RowMajor;
      if (plain && rows_are_apart(std::get<TensorView>(arguments[i]), std::get<TensorView>(arguments[j]))) continue;
      return argument_error(params[i].name, "it is written, but shares memory with argument " + quoted(params[j].name));
    }
  }
  return {};
}

}  // namespace coda
