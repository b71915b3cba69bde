// The search: few explicit decisions, the whole replanned for each, coordinate descent from a few starts.
#include <algorithm>
#include <memory>

#include "compiler/epilogue/describe.h"
#include "compiler/ir/storage_type.h"
#include "compiler/plan/check.h"
#include "compiler/plan/emission.h"
#include "compiler/plan/merge_passes.h"
#include "compiler/plan/moves.h"
#include "compiler/plan/place_early.h"
#include "compiler/plan/split_kernels.h"
#include "compiler/rewrite/engine.h"
#include "dsl/diagnostics.h"
#include "dsl/suggest.h"

namespace coda {

namespace {

constexpr int kMostReplans = 500;
/// A value of fewer than this share of the smallest GEMM's result is light.
constexpr double kLightShare = 8;
/// Plans nearer than this cost the same; the first one found stays.
constexpr double kSecondsApart = 1e-9;

struct Choices {
  std::map<NodeId, bool> fold;  // of GEMMs with factors that have only summed dimensions
  LawDecisions laws;
  bool early = true;
};

struct Attempt {
  Choices choices;
  BlockValues values;
  std::map<LawSite, int> sites;
  std::map<NodeId, NodeId> moved;    // contractions that took a factor in
  std::unique_ptr<Hosting> hosting;  // null if it failed
  CostedPlan costs;
  std::string failure;
  NodeId failed = kNoNode;

  double seconds() const { return costs.seconds; }
};

/// What makes a GEMM the same one after laws have changed what it multiplies.
struct FoldKey {
  std::vector<NamedDim> over, dims;
  std::vector<NodeId> columns;  // factors with only summed dimensions
  bool operator==(const FoldKey&) const = default;
};

/// Products that a sum is taken of, and that are used in another way as well.
std::vector<NodeId> summed_and_used(const Program& block) {
  std::set<NodeId> summed, used;
  std::vector<NodeId> roots;
  for (const auto& output : block.outputs) roots.push_back(output.value);
  used.insert(roots.begin(), roots.end());
  for (const NodeId id : topological(block.graph, roots)) {
    const Node& node = block.graph[id];
    const bool sum = node.kind == NodeKind::Contract && node.args.size() == 1;
    for (const NodeId arg : node.args) {
      const Node& product = block.graph[arg];
      if (product.kind == NodeKind::Contract && !product.over.empty()) (sum ? summed : used).insert(arg);
    }
  }
  std::vector<NodeId> both;
  std::set_intersection(summed.begin(), summed.end(), used.begin(), used.end(), std::back_inserter(both));
  return both;
}

class Search {
 public:
  Search(const Program& block, const PlanOptions& options, const Law* dropped)
      : block_(block),
        options_(options),
        sizes_(with(options.sizes, block.bound)),
        facts_(block.facts, block.bound),
        algebra_(graph_, sizes_, facts_, dropped),
        dropped_(dropped),
        check_(block, options.verify) {
    set_widths();
    algebra_.know_types([this](NodeId id) { return written_type(graph_, block_, id); }, storage_type(block));
    std::map<NodeId, NodeId> memo;
    for (const NodeId product : summed_and_used(block)) {
      algebra_.keep_shared(algebra_.import(block.graph, product, memo));
    }
    for (const auto& output : block.outputs) {
      values_.outputs.push_back({output.param, algebra_.import(block.graph, output.value, memo)});
    }
    for (const auto& [node, name] : block.value_names) {
      const auto imported = memo.find(node);
      if (imported != memo.end()) algebra_.name(imported->second, name);
    }
    check_.values("normal form", graph_, values_);
    find_late_parameters();
  }

  bool run(Plan& plan, Diagnostics& diagnostics) {
    Attempt best = descend({});
    if (options_.rewrites) {
      take_if_better(best, descend({.early = false}));
      // Nothing distributed: a sum left alone may hold another, so this takes a few looks.
      Choices apart;
      for (bool more = true; more && may_search();) {
        more = false;
        for (const auto& [site, ways] : attempt(apart).sites) {
          more = (site.first == &kDistribute && apart.laws.try_emplace(site, ways - 1).second) || more;
        }
      }
      if (!apart.laws.empty()) take_if_better(best, descend(apart));
    }
    if (check_.failure()) return report_wrong_pass(diagnostics);
    if (!best.hosting) {
      const bool where = best.failed != kNoNode && graph_[best.failed].span.valid();
      diagnostics.report(DiagId::E0360, where ? graph_[best.failed].span : block_.span, {block_.name, best.failure});
      return false;
    }
    names_ = algebra_.names();
    plan = emit_plan(algebra_, block_, best.values, *best.hosting, best.costs, names_);
    split_kernels(options_.machine, plan);
    std::vector<LawUse> merged;
    if (options_.rewrites && algebra_.on(kOnePass)) merged = merge_passes(block_, sizes_, options_.machine, plan);
    settle_plan(plan);
    for (const Dim& extent : algebra_.not_empty()) {
      plan.facts.push_back({.left = Dim(1), .right = extent, .modulus = {}, .relation = "<=", .span = block_.span});
    }
    if (!check_.plan(plan)) return report_wrong_pass(diagnostics);
    report_laws(best, plan);
    plan.laws.insert(plan.laws.end(), merged.begin(), merged.end());
    report_decisions(best, plan);
    plan.replans = replans_;
    plan.exhausted = exhausted_;
    return true;
  }

 private:
  bool report_wrong_pass(Diagnostics& diagnostics) const {
    const auto& wrong = *check_.failure();
    diagnostics
        .report(DiagId::E0360, block_.span,
                {block_.name, "after `" + wrong.pass + "` its output `" + wrong.output + "` differs by " +
                                  wrong.amount + " from the source on small random inputs"})
        .way_out = "this is a bug of the compiler: plan without the law, and report the program";
    return false;
  }

  static Bindings with(Bindings sizes, const Bindings& bound) {
    for (const auto& [name, value] : bound) sizes.try_emplace(name, value);
    return sizes;
  }

  /// Parameters that are there once everything is done that does not need them: those that the options name, and what
  /// `grad` names as the gradients of this block's own outputs.
  void find_late_parameters() {
    for (size_t p = 0; p < block_.params.size(); ++p) {
      const Param& param = block_.params[p];
      const bool named = std::find(options_.late.begin(), options_.late.end(), param.name) != options_.late.end();
      const bool incoming = param.role != Param::Role::Out &&
                            std::any_of(block_.outputs.begin(), block_.outputs.end(), [&](const auto& output) {
                              return "d_" + block_.params[static_cast<size_t>(output.param)].name == param.name;
                            });
      if (named || incoming) late_.insert(static_cast<int>(p));
    }
  }

  /// Light is what is much smaller than any GEMM's result, and every vector beside a GEMM.
  void set_widths() {
    double least = -1;
    std::vector<NodeId> roots;
    for (const auto& output : block_.outputs) roots.push_back(output.value);
    for (const NodeId id : topological(block_.graph, roots)) {
      const Node& node = block_.graph[id];
      const bool product = node.kind == NodeKind::Contract && !node.over.empty() && node.args.size() > 1;
      const bool covering = std::any_of(node.args.begin(), node.args.end(), [&](NodeId arg) {
        return subset(set_union(node.dims, node.over), block_.graph[arg].dims);
      });
      if (!product || covering) continue;
      const auto is_given = [&](NodeId arg) {
        while (block_.graph[arg].kind == NodeKind::View) arg = block_.graph[arg].args[0];
        return block_.graph[arg].kind == NodeKind::Input;
      };
      std::vector<NodeId> matrices{id};  // and operands that have to be stored
      for (const NodeId arg : node.args) {
        if (!is_given(arg) && block_.graph[arg].dims.size() > 1) matrices.push_back(arg);
      }
      for (const NodeId matrix : matrices) {
        const double elements = sizes_.elements(block_.graph[matrix].dims);
        if (least < 0 || elements < least) least = elements;
      }
    }
    double most = -1;  // without a GEMM: of everything
    for (const NodeId id : topological(block_.graph, roots)) {
      const auto& dims = block_.graph[id].dims;
      if (dims.size() > 1) most = std::max(most, sizes_.elements(dims));
    }
    if (least < 0) least = most;
    sizes_.vectors_are_light = least >= 0;
    sizes_.wide_from = least < 0 ? 1 : std::max(1.0, least / kLightShare);
  }

  FoldKey fold_key(NodeId gemm) const {
    const Node& node = graph_[gemm];
    FoldKey key{node.over, node.dims, {}};
    for (const NodeId arg : node.args) {
      if (!meet(graph_[arg].dims, node.dims)) key.columns.push_back(arg);
    }
    return key;
  }

  bool may_search() {
    exhausted_ = exhausted_ || replans_ >= kMostReplans || looked_at_ > options_.effort;
    return options_.rewrites && !exhausted_ && !check_.failure();
  }

  Attempt attempt(const Choices& choices) {
    ++replans_;
    Attempt result{.choices = choices, .values = values_};
    std::vector<FoldKey> forced;
    rewrite(result, forced);
    auto& moved = result.moved;
    const FoldChoice fold = [this, &choices, &moved, &forced](NodeId gemm) {
      if (std::find(forced.begin(), forced.end(), fold_key(gemm)) != forced.end()) return true;
      const auto origin = moved.find(gemm);
      const auto it = choices.fold.find(origin == moved.end() ? gemm : origin->second);
      return it == choices.fold.end() || it->second;
    };
    const bool place = choices.early && options_.rewrites && algebra_.on(kPlaceEarly);
    if (place) {
      result.values = place_early(algebra_, block_, result.values, fold, late_, moved);
      check_.values(kPlaceEarly.name, graph_, result.values);
    }
    result.hosting = std::make_unique<Hosting>(algebra_, block_, result.values, fold, late_);
    const bool hosted = result.hosting->run();
    looked_at_ += static_cast<int64_t>(result.hosting->home.size() + result.hosting->known.size()) *
                  static_cast<int64_t>(result.hosting->kernels.size() + 1);
    if (!hosted) {
      result.failure = result.hosting->failure;
      result.failed = result.hosting->failed;
      result.hosting.reset();
      return result;
    }
    result.costs = settle_storage(algebra_, block_, *result.hosting, options_.machine);
    return result;
  }

  void rewrite(Attempt& result, std::vector<FoldKey>& forced) {
    LawEngine engine{.algebra = algebra_, .late_params = late_};
    for (size_t p = 0; p < block_.params.size(); ++p) {
      const DTypeInfo& type = info(block_.params[p].dtype);
      if (type.num_class == NumClass::Real && type.bits >= 32) engine.exact_params.insert(static_cast<int>(p));
    }
    for (const Law* law : law_table()) {
      const bool optional = law->kind == LawKind::Choice && !options_.rewrites;
      if (law->alternatives != nullptr && law != dropped_ && !optional) engine.laws.push_back(law);
    }
    engine.laws.insert(engine.laws.end(), options_.more_laws.begin(), options_.more_laws.end());
    const auto step = [&](const Law& law, const std::vector<NodeId>&, const std::vector<NodeId>& after) {
      BlockValues values = result.values;
      for (size_t i = 0; i < after.size(); ++i) values.outputs[i].second = after[i];
      check_.values(law.name, graph_, values);
    };
    const Rewriting rewriting = engine.run(result.values.roots(), result.choices.laws, step);
    for (size_t i = 0; i < rewriting.roots.size(); ++i) result.values.outputs[i].second = rewriting.roots[i];
    result.sites = rewriting.sites;
    for (const NodeId gemm : rewriting.folded) forced.push_back(fold_key(gemm));
    exhausted_ = exhausted_ || !rewriting.settled;
  }

  /// GEMMs whose column factors may go to either side, as they were before factors were placed.
  std::vector<NodeId> foldable(const Attempt& from) const {
    std::vector<NodeId> gemms;
    if (!from.hosting) return gemms;
    for (const HostKernel& kernel : from.hosting->kernels) {
      if (kernel.accumulator == kNoNode || fold_key(kernel.accumulator).columns.empty()) continue;
      const auto origin = from.moved.find(kernel.accumulator);
      gemms.push_back(origin == from.moved.end() ? kernel.accumulator : origin->second);
    }
    return gemms;
  }

  static bool folds(const Choices& choices, NodeId gemm) {
    const auto it = choices.fold.find(gemm);
    return it == choices.fold.end() || it->second;
  }

  /// All choices that differ from `from` in one decision.
  std::vector<Choices> neighbours(const Attempt& from) const {
    std::vector<Choices> all;
    for (const NodeId gemm : foldable(from)) {
      all.push_back(from.choices);
      all.back().fold[gemm] = !folds(from.choices, gemm);
    }
    for (const auto& [site, ways] : from.sites) {
      const auto taken = from.choices.laws.find(site);
      const int now = taken == from.choices.laws.end() ? 0 : taken->second;
      for (int way = 0; way < ways; ++way) {
        if (way == now) continue;
        all.push_back(from.choices);
        all.back().laws[site] = way;
      }
    }
    return all;
  }

  bool better(const Attempt& candidate, const Attempt& best) const {
    if (!candidate.hosting) return false;
    return !best.hosting || candidate.seconds() < best.seconds() - kSecondsApart;
  }

  void take_if_better(Attempt& best, Attempt candidate) const {
    if (better(candidate, best)) best = std::move(candidate);
  }

  Attempt descend(const Choices& start) {
    Attempt best = attempt(start);
    bool improved = true;
    while (improved && may_search()) {
      improved = false;
      for (const Choices& other : neighbours(best)) {
        if (!may_search()) break;
        Attempt candidate = attempt(other);
        if (!better(candidate, best)) continue;
        best = std::move(candidate);
        improved = true;
        break;
      }
    }
    return best;
  }

  void report_laws(const Attempt& best, Plan& plan) const {
    // A law that was undone later is not in the plan: factors that were placed early never left.
    std::vector<NodeId> roots = best.values.roots();
    for (const HostKernel& kernel : best.hosting->kernels) {
      roots.insert(roots.end(), kernel.operands.begin(), kernel.operands.end());
    }
    std::vector<LawEntry> entries = algebra_.log();
    const auto moves = planner_moves(algebra_, *best.hosting, best.costs);
    entries.insert(entries.end(), moves.begin(), moves.end());
    plan.laws = law_uses(block_, graph_, entries, roots, names_);
  }

  void report(const Attempt& best, const Choices& other, bool taken, const Law& law, std::string what, Span span,
              Plan& plan) {
    const Attempt alternative = attempt(other);
    const double seconds = alternative.hosting ? alternative.seconds() : -1;
    plan.decisions.push_back({.law = std::string(law.name),
                              .what = std::move(what),
                              .span = span,
                              .taken = taken,
                              .seconds_if_taken = taken ? best.seconds() : seconds,
                              .seconds_if_not = taken ? seconds : best.seconds()});
  }

  void report_decisions(const Attempt& best, Plan& plan) {
    for (const NodeId gemm : foldable(best)) {
      Choices other = best.choices;
      other.fold[gemm] = !folds(best.choices, gemm);
      std::string factors;
      for (const NodeId arg : fold_key(gemm).columns) {
        factors += (factors.empty() ? "" : ", ") + describe_whole(block_, graph_, arg, algebra_.names());
      }
      report(best, other, folds(best.choices, gemm), kColumnFactor,
             "fold " + factors + " into the weights of " + describe_whole(block_, graph_, gemm, algebra_.names()),
             graph_[gemm].span, plan);
    }
    for (const auto& [site, ways] : best.sites) {
      const auto& [law, node] = site;
      const auto it = best.choices.laws.find(site);
      const int now = it == best.choices.laws.end() ? 0 : std::min(it->second, ways - 1);
      const bool taken = now != ways - 1;  // the last alternative leaves the value as it is, or is the least preferred
      Choices other = best.choices;
      other.laws[site] = taken ? ways - 1 : 0;
      report(best, other, taken, *law, std::string(law->name) + " in " + describe_whole(block_, graph_, node, names_),
             graph_[node].span, plan);
    }
  }

  const Program& block_;
  const PlanOptions& options_;
  SizeHints sizes_;
  DimFacts facts_;
  Graph graph_;
  Algebra algebra_;
  const Law* dropped_;
  PassCheck check_;
  BlockValues values_;
  NodeNames names_;  // of values, for reports
  std::set<int> late_;
  int replans_ = 0;
  int64_t looked_at_ = 0;
  bool exhausted_ = false;
};

}  // namespace

bool plan_block(const Program& block, const PlanOptions& options, Plan& plan, Diagnostics& diagnostics) {
  const Law* dropped = options.drop_law.empty() ? nullptr : find_law(options.drop_law);
  if (dropped == nullptr && !options.drop_law.empty()) {
    std::vector<std::string> names;
    for (const Law* law : law_table()) names.emplace_back(law->name);
    const std::string nearest = nearest_name(options.drop_law, names);
    diagnostics.report(DiagId::E0360, block.span, {block.name, "there is no law `" + options.drop_law + "`"}).way_out =
        nearest.empty() ? "`codac explain` names the laws that a plan uses, docs/laws.md all"
                        : "did you mean `" + nearest + "`?";
    return false;
  }
  if (dropped != nullptr && !dropped->inherent.empty()) {
    const std::string why = "the law `" + options.drop_law + "` can't be left out: " + std::string(dropped->inherent);
    diagnostics.report(DiagId::E0360, block.span, {block.name, why}).way_out = "leave out another one";
    return false;
  }
  for (const Param& param : block.params) {
    const ParamLayoutInfo* layout = find_layout(param.layout);
    if (layout == nullptr) continue;
    const std::string why = "`" + param.name + "` has the layout `" + std::string(layout->name) +
                            "`, and tensors of a block, which may be read again, lie row by row";
    diagnostics.report(DiagId::E0360, block.span, {block.name, why}).way_out = "lay it out by a kernel of its own";
    return false;
  }
  return Search(block, options, dropped).run(plan, diagnostics);
}

}  // namespace coda
