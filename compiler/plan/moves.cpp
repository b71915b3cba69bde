#include "compiler/plan/moves.h"

#include <algorithm>

#include "compiler/epilogue/describe.h"

namespace coda {

namespace {

class Moves {
 public:
  Moves(const Algebra& algebra, const Hosting& hosting, const CostedPlan& costs)
      : algebra_(algebra), graph_(algebra.graph()), hosting_(hosting), costs_(costs) {}

  std::vector<LawEntry> run() {
    for (size_t k = 0; k < hosting_.kernels.size(); ++k) {
      split_reductions(k);
      if (hosting_.kernels[k].kind != KernelKind::Gemm) continue;
      column_factors(k);
      epilogue(k);
    }
    recomputed();
    return std::move(entries_);
  }

 private:
  /// `product`: where it is said, if the witness was made by laws alone.
  void add(const Law& law, NodeId witness, std::vector<std::pair<const char*, NodeId>> bindings,
           NodeId product = kNoNode) {
    const Span own = graph_[witness].span;
    entries_.push_back(
        {&law, witness, std::move(bindings), own.valid() || product == kNoNode ? own : graph_[product].span});
  }

  void split_reductions(size_t k) {
    for (const NodeId statistic : costs_.traffic[k].statistics) {
      for (size_t later = k + 1; later < hosting_.kernels.size(); ++later) {
        const auto used = topological(graph_, costs_.traffic[later].light);
        if (std::find(used.begin(), used.end(), statistic) == used.end()) continue;
        add(kSplitReduction, statistic, {{"f(x)", statistic}});
        break;
      }
    }
  }

  void column_factors(size_t k) {
    const NodeId gemm = hosting_.kernels[k].accumulator;
    const Node& node = graph_[gemm];
    const auto& operands = hosting_.kernels[k].operands;
    for (const NodeId factor : node.args) {
      if (meet(graph_[factor].dims, node.dims) || operands.size() < 2) continue;
      const auto weights = algebra_.factors(operands[1]);
      const bool folded = std::find(weights.begin(), weights.end(), factor) != weights.end();
      add(kColumnFactor, gemm, {{"g", factor}, {folded ? "g*w" : "a*g", operands[folded ? 1 : 0]}});
    }
  }

  /// Views of the accumulator under `value`, as far as this kernel computes it.
  std::vector<NodeId> pieces(NodeId value, size_t k) const {
    std::vector<NodeId> views, stack{value};
    std::set<NodeId> seen;
    while (!stack.empty()) {
      const NodeId at = stack.back();
      stack.pop_back();
      if (!seen.insert(at).second) continue;
      const Node& node = graph_[at];
      if (node.kind == NodeKind::View && node.args[0] == hosting_.kernels[k].accumulator) views.push_back(at);
      const bool elsewhere = at != value && hosting_.stored.contains(at) &&
                             (!hosting_.home.contains(at) || hosting_.home.at(at) != static_cast<int>(k));
      if (!elsewhere) stack.insert(stack.end(), node.args.begin(), node.args.end());
    }
    return views;
  }

  bool uses(NodeId value, NodeId accumulator) const {
    const auto below = topological(graph_, {value});
    return std::find(below.begin(), below.end(), accumulator) != below.end();
  }

  void epilogue(size_t k) {
    const NodeId accumulator = hosting_.kernels[k].accumulator;
    std::set<NodeId> all_pieces;
    NodeId last = kNoNode;
    for (const NodeId value : costs_.traffic[k].computed) {  // h = x + acc: a wide term beside the product
      const auto terms = algebra_.terms(value);
      if (terms.size() < 2 || !algebra_.wide(value)) continue;
      NodeId product = kNoNode, input = kNoNode;
      for (const Term& term : terms) {
        const auto factors = algebra_.factors(term.node);
        if (std::find(factors.begin(), factors.end(), accumulator) != factors.end()) product = term.node;
        if (algebra_.wide(term.node) && !uses(term.node, accumulator)) input = term.node;
      }
      if (product != kNoNode && input != kNoNode) {
        add(kAccumulatorInput, value, {{"x", input}, {"a @ w", accumulator}}, accumulator);
      }
    }
    for (const NodeId value : costs_.traffic[k].stores) {
      const auto views = pieces(value, k);
      if (views.size() > 1) add(kPairing, value, {{"f", value}}, accumulator);
      if (!views.empty()) last = value;
      all_pieces.insert(views.begin(), views.end());
    }
    size_t with_pieces = 0;
    for (const NodeId value : costs_.traffic[k].stores) with_pieces += !pieces(value, k).empty();
    if (with_pieces > 1 && all_pieces.size() > 1) add(kRegions, last, {{"a @ w", accumulator}}, accumulator);
  }

  /// Values computed by a kernel that reads what they are made of, where the one that had it in registers might have
  /// stored them.
  void recomputed() {
    std::set<NodeId, std::greater<>> again;
    std::set<NodeId> once;
    for (size_t k = 0; k < costs_.traffic.size(); ++k) {
      for (const NodeId value : costs_.traffic[k].computed) {
        const auto home = hosting_.home.find(value);
        const bool elsewhere = home != hosting_.home.end() && home->second >= 0 && home->second != static_cast<int>(k);
        if (!once.insert(value).second || elsewhere) again.insert(value);
      }
    }
    std::set<NodeId> inside;  // only the largest values: what is below them goes without saying
    for (const NodeId value : again) {
      const Node& node = graph_[value];
      const bool work = node.kind == NodeKind::Apply || node.kind == NodeKind::Sum || node.kind == NodeKind::Contract;
      if (!work || !algebra_.wide(value) || hosting_.stored.contains(value)) continue;
      if (!inside.contains(value)) add(kRecompute, value, {{"f(x)", value}});
      for (const NodeId below : topological(graph_, {value})) inside.insert(below);
    }
  }

  const Algebra& algebra_;
  const Graph& graph_;
  const Hosting& hosting_;
  const CostedPlan& costs_;
  std::vector<LawEntry> entries_;
};

}  // namespace

std::vector<LawEntry> planner_moves(const Algebra& algebra, const Hosting& hosting, const CostedPlan& costs) {
  return Moves(algebra, hosting, costs).run();
}

std::vector<LawUse> law_uses(const Program& block, const Graph& graph, const std::vector<LawEntry>& entries,
                             const std::vector<NodeId>& roots, const NodeNames& names) {
  const auto nodes = topological(graph, roots);
  const std::set<NodeId> cone(nodes.begin(), nodes.end());
  std::vector<LawUse> uses;
  for (const LawEntry& entry : entries) {
    if (!cone.contains(entry.witness)) continue;
    std::string detail(entry.law->equation);
    const char* separator = ", with ";
    for (const auto& [letter, node] : entry.bindings) {
      detail += separator + std::string(letter) + " = " + describe_whole(block, graph, node, names);
      separator = ", ";
    }
    const bool known = std::any_of(uses.begin(), uses.end(), [&](const LawUse& use) {
      return use.law == entry.law->name && use.detail == detail;
    });
    if (!known) uses.push_back({std::string(entry.law->name), detail, entry.span});
  }
  return uses;
}

}  // namespace coda
