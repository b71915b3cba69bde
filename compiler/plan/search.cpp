// The search: few explicit decisions, the whole replanned for each, coordinate descent from two starts.
#include <algorithm>
#include <memory>

#include "compiler/epilogue/describe.h"
#include "compiler/plan/emission.h"
#include "compiler/plan/place_early.h"
#include "compiler/plan/plan.h"
#include "dsl/diagnostics.h"

namespace coda {

namespace {

constexpr int kMostReplans = 500;
/// A value of fewer than this share of the smallest GEMM's result is light.
constexpr double kLightShare = 8;

struct Choices {
  std::map<NodeId, bool> fold;  // of GEMMs with factors that have only summed dimensions
  bool early = true;
};

struct Attempt {
  Choices choices;
  BlockValues values;
  std::unique_ptr<Hosting> hosting;  // null if it failed
  CostedPlan costs;
  std::vector<LawUse> laws;
  std::string failure;
  NodeId failed = kNoNode;
};

class Search {
 public:
  Search(const Program& block, const PlanOptions& options)
      : block_(block),
        options_(options),
        sizes_(with(options.sizes, block.bound)),
        facts_(block.facts, block.bound),
        algebra_(graph_, sizes_, facts_) {
    sizes_.wide_from = wide_from();
    std::map<NodeId, NodeId> memo;
    for (const auto& output : block.outputs) {
      values_.outputs.push_back({output.param, algebra_.import(block.graph, output.value, memo)});
    }
  }

  bool run(Plan& plan, std::string& failure, Span& span) {
    Attempt best = descend({});
    if (best.hosting && options_.rewrites) {
      Attempt late = descend({.early = false});
      if (late.hosting && late.costs.seconds < best.costs.seconds) best = std::move(late);
    }
    if (!best.hosting) {
      failure = best.failure;
      if (best.failed != kNoNode && graph_[best.failed].span.valid()) span = graph_[best.failed].span;
      return false;
    }
    plan = emit_plan(algebra_, block_, best.values, *best.hosting, best.costs);
    plan.laws = best.laws;
    report_decisions(best, plan);
    plan.replans = replans_;
    return true;
  }

 private:
  static Bindings with(Bindings sizes, const Bindings& bound) {
    for (const auto& [name, value] : bound) sizes.try_emplace(name, value);
    return sizes;
  }

  /// Light is what is much smaller than any GEMM's result.
  double wide_from() const {
    double least = -1;
    for (const auto& output : block_.outputs) {
      for (const NodeId id : topological(block_.graph, {output.value})) {
        const Node& node = block_.graph[id];
        const bool product = node.kind == NodeKind::Contract && !node.over.empty() && node.args.size() > 1;
        const bool covering = std::any_of(node.args.begin(), node.args.end(), [&](NodeId arg) {
          return subset(set_union(node.dims, node.over), block_.graph[arg].dims);
        });
        if (!product || covering) continue;
        const double elements = sizes_.elements(node.dims);
        if (least < 0 || elements < least) least = elements;
      }
    }
    return least < 0 ? 1 : least / kLightShare;
  }

  Attempt attempt(const Choices& choices) {
    ++replans_;
    Attempt result{.choices = choices, .values = values_};
    const FoldChoice fold = [choices](NodeId gemm) {
      const auto it = choices.fold.find(gemm);
      return it == choices.fold.end() || it->second;
    };
    const bool place = choices.early && options_.rewrites && options_.drop_law != "place early";
    if (place) result.values = place_early(algebra_, block_, values_, fold, result.laws);
    result.hosting = std::make_unique<Hosting>(algebra_, block_, result.values, fold);
    if (!result.hosting->run()) {
      result.failure = result.hosting->failure;
      result.failed = result.hosting->failed;
      result.hosting.reset();
      return result;
    }
    result.costs = settle_storage(algebra_, block_, *result.hosting, options_.machine);
    return result;
  }

  std::vector<NodeId> foldable(const Attempt& from) const {
    std::vector<NodeId> gemms;
    for (const HostKernel& kernel : from.hosting->kernels) {
      if (kernel.accumulator == kNoNode) continue;
      const Node& node = graph_[kernel.accumulator];
      const bool has = std::any_of(node.args.begin(), node.args.end(),
                                   [&](NodeId arg) { return !meet(graph_[arg].dims, node.dims); });
      if (has) gemms.push_back(kernel.accumulator);
    }
    return gemms;
  }

  Attempt descend(Choices start) {
    Attempt best = attempt(start);
    bool better = options_.rewrites && best.hosting != nullptr;
    while (better && replans_ < kMostReplans) {
      better = false;
      for (const NodeId gemm : foldable(best)) {
        Choices other = best.choices;
        const auto it = other.fold.find(gemm);
        other.fold[gemm] = it == other.fold.end() ? false : !it->second;
        Attempt candidate = attempt(other);
        if (!candidate.hosting || candidate.costs.seconds >= best.costs.seconds - 1e-9) continue;
        best = std::move(candidate);
        better = true;
        break;
      }
    }
    return best;
  }

  void report_decisions(const Attempt& best, Plan& plan) {
    for (const NodeId gemm : foldable(best)) {
      Choices other = best.choices;
      const auto it = other.fold.find(gemm);
      const bool folded = it == other.fold.end() || it->second;
      other.fold[gemm] = !folded;
      const Attempt alternative = attempt(other);
      std::string factors;
      for (const NodeId arg : graph_[gemm].args) {
        if (meet(graph_[arg].dims, graph_[gemm].dims)) continue;
        factors += (factors.empty() ? "" : ", ") + describe(block_, graph_, arg);
      }
      const double other_seconds = alternative.hosting ? alternative.costs.seconds : -1;
      plan.decisions.push_back({.what = "fold " + factors + " into the weights of " + describe(block_, graph_, gemm),
                                .taken = folded,
                                .seconds_if_taken = folded ? best.costs.seconds : other_seconds,
                                .seconds_if_not = folded ? other_seconds : best.costs.seconds});
    }
  }

  const Program& block_;
  const PlanOptions& options_;
  SizeHints sizes_;
  DimFacts facts_;
  Graph graph_;
  Algebra algebra_;
  BlockValues values_;
  int replans_ = 0;
};

}  // namespace

bool plan_block(const Program& block, const PlanOptions& options, Plan& plan, Diagnostics& diagnostics) {
  std::string failure;
  Search search(block, options);
  Span span = block.span;
  if (search.run(plan, failure, span)) return true;
  diagnostics.report(DiagId::E0360, span, {block.name, failure});
  return false;
}

}  // namespace coda
