#include "runtime/plan_layout.h"

#include <algorithm>
#include <set>

namespace coda {

namespace {

/// Rows of a matrix begin at multiples of what TMA can address.
constexpr int64_t kRowAlignment = 16;

int64_t round_up(int64_t value, int64_t multiple) { return (value + multiple - 1) / multiple * multiple; }

}  // namespace

Expected<PlanLayout> PlanLayout::create(std::shared_ptr<const PlanImage> image, const Bindings& given) {
  if (Status status = check_plan(*image); !status.ok()) return status;
  PlanLayout layout;
  layout.image_ = std::move(image);
  for (const PlanStep& step : layout.image_->steps) {
    auto kernel = LaunchPlan::create_step(std::shared_ptr<const KernelImage>(layout.image_, &step.kernel));
    if (!kernel) return kernel.status();
    layout.kernels_.push_back(std::move(*kernel));
  }
  layout.find_lifetimes();
  if (Status status = layout.make_block(given); !status.ok()) return status;
  return layout;
}

void PlanLayout::find_lifetimes() {
  tensors_.resize(image_->tensors.size());
  std::set<int> weights;
  for (size_t s = 0; s < image_->steps.size(); ++s) {
    const PlanStep& step = image_->steps[s];
    for (size_t i = 0; i < step.arguments.size(); ++i) {
      const int at = image_->tensor_of(step.arguments[i]);
      if (at < 0) {
        if (step.once) weights.insert(step.arguments[i]);
        continue;
      }
      Tensor& tensor = tensors_[static_cast<size_t>(at)];
      if (tensor.first < 0) tensor.first = static_cast<int>(s);
      tensor.last = static_cast<int>(s);
      tensor.kept = tensor.kept || (step.once && step.kernel.params[i].is_output());
    }
  }
  weights_.assign(weights.begin(), weights.end());
  keeps_ = std::any_of(tensors_.begin(), tensors_.end(), [](const Tensor& tensor) { return tensor.kept; });
}

/// The plan's own parameters as an image without code, whose words are the tensors' extents: it is bound as any other.
Status PlanLayout::make_block(const Bindings& given) {
  auto block = std::make_shared<KernelImage>();
  static_cast<Signature&>(*block) = *image_;
  std::vector<bool> any_stride(block->params.size(), true);
  std::set<std::string> names;
  for (size_t s = 0; s < kernels_.size(); ++s) {
    const PlanStep& step = image_->steps[s];
    for (const FactSpec& fact : step.kernel.facts) {
      if (std::find(block->facts.begin(), block->facts.end(), fact) == block->facts.end()) block->facts.push_back(fact);
    }
    for (size_t i = 0; i < step.arguments.size(); ++i) {
      const auto at = static_cast<size_t>(step.arguments[i]);
      if (at < any_stride.size() && !kernels_[s].takes_any_last_stride(i)) any_stride[at] = false;
    }
    names.insert(kernels_[s].symbols().begin(), kernels_[s].symbols().end());
  }
  using Kind = WordSpec::Kind;
  for (size_t p = 0; p < block->params.size(); ++p) {
    const int param = static_cast<int>(p), rank = static_cast<int>(block->params[p].extents.size());
    if (block->params[p].role == ParamSpec::Role::Scalar) block->words.push_back({Kind::Scalar, param, -1, {}});
    if (rank > 0 && any_stride[p]) block->words.push_back({Kind::Stride, param, rank - 1, {}});
  }
  for (size_t t = 0; t < tensors_.size(); ++t) {
    tensors_[t].first_word = block->words.size();
    for (const Dim& extent : image_->tensors[t].extents) block->words.push_back({Kind::Extent, -1, -1, extent});
  }
  for (const std::string& name : names) block->words.push_back({Kind::Extent, -1, -1, Dim::symbol(name)});
  auto plan = LaunchPlan::create(block, given);
  if (!plan) return plan.status();
  block_ = std::move(*plan);
  for (const LaunchPlan& kernel : kernels_) {
    std::vector<int>& map = symbols_.emplace_back();
    for (const std::string& name : kernel.symbols()) {
      const auto& all = block_->symbols();
      map.push_back(static_cast<int>(std::find(all.begin(), all.end(), name) - all.begin()));
    }
  }
  return {};
}

Status PlanLayout::shape(size_t index, PlanBinding& binding) const {
  const PlanTensorSpec& spec = image_->tensors[index];
  TensorView& view = binding.tensors[index];
  view.dtype = spec.dtype;
  view.shape = {};
  for (size_t axis = 0; axis < spec.extents.size(); ++axis) {
    view.shape.push_back(binding.block.words[tensors_[index].first_word + axis]);
  }
  const int64_t width = info(spec.dtype).bits / 8;
  Sizes padded = view.shape;
  if (padded.size() == 2) padded[1] = round_up(std::min(padded[1], INT64_MAX / 2), kRowAlignment / width);
  view.strides = contiguous_strides(padded);
  const auto count = element_count(padded);
  const auto bytes = count ? packed_bytes(spec.dtype, *count) : std::nullopt;
  constexpr int64_t kMost = int64_t{1} << 48;
  if (!bytes || *bytes > kMost) {
    return {Code::InvalidArgument, "block '" + image_->name + "': its tensor '" + spec.name + "' of shape " +
                                       to_text(view.shape) + " exceeds the address space"};
  }
  binding.bytes[index] = round_up(*bytes, static_cast<int64_t>(kWorkspaceAlignment));
  return {};
}

Status PlanLayout::bind(std::span<const Argument> arguments, int device, PlanBinding& binding) const {
  if (Status status = block_->bind(arguments, device, binding.block); !status.ok()) return status;
  binding.tensors.resize(tensors_.size());
  binding.bytes.resize(tensors_.size());
  binding.arena.resize(tensors_.size());
  for (size_t t = 0; t < tensors_.size(); ++t) {
    if (Status status = shape(t, binding); !status.ok()) return status;
    binding.arena[t] = {tensors_[t].first, tensors_[t].last, tensors_[t].kept ? 0 : binding.bytes[t], 0};
  }
  binding.arena_bytes = arrange(binding.arena, binding.order);
  binding.kept_bytes = 0;
  for (size_t t = 0; t < tensors_.size(); ++t) {
    if (!tensors_[t].kept) continue;
    binding.arena[t].offset = binding.kept_bytes;
    binding.kept_bytes += binding.bytes[t];
  }
  return {};
}

void PlanLayout::place(std::span<const Argument> arguments, int device, void* arena, void* kept,
                       PlanBinding& binding) const {
  binding.arena_at = arena;
  binding.kept_at = kept;
  for (size_t t = 0; t < tensors_.size(); ++t) {
    binding.tensors[t].device = device;
    const auto base = reinterpret_cast<uintptr_t>(tensors_[t].kept ? kept : arena);
    binding.tensors[t].data = reinterpret_cast<void*>(base + static_cast<uintptr_t>(binding.arena[t].offset));
  }
  binding.steps.resize(image_->steps.size());
  binding.calls.resize(image_->steps.size());
  for (size_t s = 0; s < image_->steps.size(); ++s) {
    auto& call = binding.calls[s];
    call.clear();
    for (const int argument : image_->steps[s].arguments) {
      const int tensor = image_->tensor_of(argument);
      if (tensor < 0) call.push_back(arguments[static_cast<size_t>(argument)]);
      if (tensor >= 0) call.push_back(binding.tensors[static_cast<size_t>(tensor)]);
    }
    auto& symbols = binding.steps[s].binding.symbols;
    symbols.clear();
    for (const int index : symbols_[s]) symbols.push_back(binding.block.symbols[static_cast<size_t>(index)]);
  }
}

}  // namespace coda
