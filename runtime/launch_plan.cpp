// Making an image ready: numbering its symbols, compiling its dimensions, and finding from which shapes the symbols
// can be computed.
#include <algorithm>
#include <set>

#include "runtime/bind.h"

namespace coda {

Expected<LaunchPlan> LaunchPlan::create(std::shared_ptr<const KernelImage> image, const Bindings& given) {
  if (Status status = check_image(*image); !status.ok()) return status;
  LaunchPlan plan;
  plan.image_ = std::move(image);
  if (Status status = plan.compile(given); !status.ok()) return status;
  if (Status status = plan.order_solves(); !status.ok()) return status;
  return plan;
}

Expected<LaunchPlan> LaunchPlan::create_step(std::shared_ptr<const KernelImage> image) {
  if (Status status = check_image(*image); !status.ok()) return status;
  LaunchPlan plan;
  plan.image_ = std::move(image);
  if (Status status = plan.compile({}); !status.ok()) return status;
  return plan;
}

namespace {

/// Calls `use` with every dimension of the image.
template <class F>
void for_each_dim(const KernelImage& image, F use) {
  for (const auto& param : image.params) {
    for (const Dim& dim : param.extents) use(dim);
  }
  for (const auto& fact : image.facts) {
    use(fact.left);
    use(fact.right);
    if (fact.modulus) use(*fact.modulus);
  }
  for (const auto& word : image.words) use(word.dim);
  for (const auto& condition : image.conditions) {
    for (const Dim& dim : condition.extents) use(dim);
  }
  for (const auto& map : image.tensor_maps) {
    use(map.offset);
    for (const auto& axis : map.axes) use(axis.extent);
  }
  for (const auto& workspace : image.workspaces) {
    use(workspace.bytes);
    use(workspace.rows);
    use(workspace.columns);
  }
  use(image.rows);
  use(image.depth);
  for (const Dim& dim : image.region_columns) use(dim);
}

}  // namespace

Status LaunchPlan::compile(const Bindings& given) {
  const KernelImage& image = *image_;
  std::set<std::string> names;
  for_each_dim(image, [&](const Dim& dim) { names.merge(dim.symbols()); });
  symbols_.assign(names.begin(), names.end());

  bound_.resize(symbols_.size());
  for (size_t i = 0; i < symbols_.size(); ++i) {
    const auto own = image.bound.find(symbols_[i]);
    const auto extra = given.find(symbols_[i]);
    if (own != image.bound.end()) bound_[i] = own->second;
    if (extra == given.end()) continue;
    if (bound_[i] && *bound_[i] != extra->second) {
      return {Code::InvalidArgument, "kernel '" + image.name + "' is compiled for " + symbols_[i] + " = " +
                                         std::to_string(*bound_[i]) + ", not " + std::to_string(extra->second)};
    }
    bound_[i] = extra->second;
  }

  bool good = true;
  auto program = [&](const Dim& dim) {
    auto compiled = DimProgram::compile(dim, symbols_);
    good = good && compiled.has_value();
    return compiled.value_or(DimProgram());
  };
  auto programs = [&](const std::vector<Dim>& dims) {
    std::vector<DimProgram> list;
    for (const Dim& dim : dims) list.push_back(program(dim));
    return list;
  };
  for (const auto& param : image.params) extents_.push_back(programs(param.extents));
  for (const auto& fact : image.facts) {
    facts_.push_back({program(fact.left), program(fact.right), std::nullopt});
    if (fact.modulus) facts_.back().modulus = program(*fact.modulus);
  }
  for (const auto& word : image.words) word_dims_.push_back(program(word.dim));
  for (const auto& condition : image.conditions) condition_extents_.push_back(programs(condition.extents));
  for (const auto& map : image.tensor_maps) {
    map_dims_.push_back({program(map.offset), {}});
    for (const auto& axis : map.axes) map_dims_.back().extents.push_back(program(axis.extent));
  }
  for (const auto& workspace : image.workspaces) {
    workspaces_.push_back({program(workspace.bytes), program(workspace.rows), program(workspace.columns)});
  }
  rows_ = program(image.rows);
  depth_ = program(image.depth);
  region_columns_ = programs(image.region_columns);
  if (!good) return {Code::Unsupported, "kernel '" + image.name + "' has a dimension too deeply nested to launch"};

  any_last_stride_.assign(image.params.size(), false);
  for (const auto& word : image.words) {
    if (word.kind != WordSpec::Kind::Stride) continue;
    if (word.axis + 1 == static_cast<int>(image.params[word.param].extents.size())) any_last_stride_[word.param] = true;
  }
  return {};
}

Status LaunchPlan::order_solves() {
  std::vector<bool> known(symbols_.size());
  for (size_t i = 0; i < symbols_.size(); ++i) known[i] = bound_[i].has_value();
  for (bool progress = true; progress;) {
    progress = false;
    for (size_t i = 0; i < symbols_.size(); ++i) {
      if (known[i]) continue;
      auto candidates = candidates_for(static_cast<int>(i), known);
      if (candidates.empty()) continue;
      solves_.push_back({static_cast<int>(i), std::move(candidates)});
      known[i] = progress = true;
    }
  }
  return undetermined(known);
}

std::vector<LaunchPlan::Candidate> LaunchPlan::candidates_for(int symbol, const std::vector<bool>& known) const {
  const std::string& name = symbols_[static_cast<size_t>(symbol)];
  std::vector<Candidate> candidates;
  auto consider = [&](const Dim& dim, Binding::Source source) {
    const auto parts = dim.linear_in(name);
    if (!parts || parts->first.is_zero()) return;
    std::set<std::string> needs = parts->first.symbols();
    needs.merge(parts->second.symbols());
    for (size_t i = 0; i < symbols_.size(); ++i) {
      if (!known[i] && needs.contains(symbols_[i])) return;
    }
    auto slope = DimProgram::compile(parts->first, symbols_);
    auto rest = DimProgram::compile(parts->second, symbols_);
    if (slope && rest) candidates.push_back({source, std::move(*slope), std::move(*rest)});
  };
  for (size_t p = 0; p < image_->params.size(); ++p) {
    const auto& extents = image_->params[p].extents;
    for (size_t a = 0; a < extents.size(); ++a) consider(extents[a], {static_cast<int>(p), static_cast<int>(a)});
  }
  // Inputs tell better than outputs what was meant, and a symbol alone on an axis better than an expression.
  auto rank = [&](const Candidate& candidate) {
    const ParamSpec& param = image_->params[candidate.source.param];
    return 2 * param.is_output() + (param.extents[candidate.source.axis] != Dim::symbol(name));
  };
  std::stable_sort(candidates.begin(), candidates.end(),
                   [&](const Candidate& a, const Candidate& b) { return rank(a) < rank(b); });
  for (const auto& fact : image_->facts) {
    if (fact.relation == "=" && !fact.modulus) consider(fact.left - fact.right, {});
  }
  return candidates;
}

Status LaunchPlan::undetermined(const std::vector<bool>& known) const {
  for (size_t i = 0; i < symbols_.size(); ++i) {
    if (known[i]) continue;
    return {Code::InvalidArgument, "kernel '" + image_->name + "': no argument's shape determines " + symbols_[i] +
                                       "; give its value when preparing the kernel (e.g. --dim " + symbols_[i] +
                                       "=...)"};
  }
  return {};
}

}  // namespace coda
