// Association chosen for what exists: sum(x * sum(y*w)) is sum(z * y) when z = sum(x*w) is computed anyway. This takes
// a norm's backward statistic one GEMM early, and gives gains their gradients.
#include <algorithm>
#include <optional>

#include "compiler/rewrite/context.h"
#include "compiler/rewrite/hits.h"

namespace coda {

namespace {

struct Opened {
  NodeId nested = kNoNode;  // the contraction that was opened; none: the node's own factors
  std::vector<NodeId> factors;
  std::vector<NamedDim> over;
};

bool is_sum(const Algebra& algebra, NodeId id) {
  const Node& node = algebra.graph()[id];
  return node.kind == NodeKind::Contract && !node.over.empty();
}

std::vector<Opened> ways_to_open(const Algebra& algebra, NodeId id) {
  const Node& node = algebra.graph()[id];
  std::vector<Opened> ways;
  if (node.args.size() > 2 && !algebra.covering(node)) ways.push_back({kNoNode, node.args, node.over});
  if (algebra.is_gemm(id) && ways.empty()) return ways;
  for (size_t i = 0; i < node.args.size(); ++i) {
    if (!is_sum(algebra, node.args[i])) continue;
    const Node& inner = algebra.graph()[node.args[i]];
    std::vector<NodeId> factors = node.args;
    factors.erase(factors.begin() + static_cast<ptrdiff_t>(i));
    const auto outer = set_union(all_dims(algebra.graph(), factors), node.over);
    if (meet(inner.over, outer)) continue;  // a name means two things
    factors.insert(factors.end(), inner.args.begin(), inner.args.end());
    ways.push_back({node.args[i], factors, set_union(node.over, inner.over)});
  }
  return ways;
}

/// `factors` without those of `gone`; nothing if some are missing.
std::optional<std::vector<NodeId>> minus(std::vector<NodeId> factors, const std::vector<NodeId>& gone) {
  for (const NodeId factor : gone) {
    const auto it = std::find(factors.begin(), factors.end(), factor);
    if (it == factors.end()) return std::nullopt;
    factors.erase(it);
  }
  return factors;
}

}  // namespace

std::vector<NodeId> hits(LawContext& context, NodeId id, bool later) {
  Algebra& algebra = context.algebra;
  std::vector<NodeId> found;
  for (const Opened& opened : ways_to_open(algebra, id)) {
    for (const NodeId other : std::vector<NodeId>(context.contractions())) {
      if (!algebra.is_gemm(other) || other == opened.nested || other == id) continue;
      if (opened.nested != kNoNode && (context.depth(other) >= context.depth(opened.nested)) != later) continue;
      const Node z = algebra.graph()[other];
      auto rest = minus(opened.factors, z.args);
      if (!rest || !subset(z.over, opened.over) || meet(all_dims(algebra.graph(), *rest), z.over)) continue;
      if (rest->empty()) algebra.keep_whole(other);  // or the normal form would open it again
      rest->push_back(other);
      const Node node = algebra.graph()[id];
      const NodeId result = algebra.product(*rest, difference(opened.over, z.over), node.span);
      if (opened.nested != kNoNode && context.is_below(opened.nested, result)) continue;
      if (!context.added_gemms(result).empty()) continue;
      found.push_back(algebra.note(kReassociate, result, {{"z", other}}, node.span));
    }
  }
  return found;
}

namespace {

std::vector<Alternative> reassociate(LawContext& context, NodeId id) {
  Algebra& algebra = context.algebra;
  const Node& node = algebra.graph()[id];
  if (node.kind != NodeKind::Contract || node.over.empty() || context.settled.contains(id)) return {};
  std::vector<Alternative> ways;
  for (const NodeId hit : hits(context, id, false)) ways.push_back({hit, {}});
  const auto& args = algebra.graph()[id].args;
  const bool statistic =
      !algebra.is_gemm(id) && std::any_of(args.begin(), args.end(), [&](NodeId arg) { return is_sum(algebra, arg); });
  if (!statistic) return ways;
  ways.push_back({id, {}});
  for (const NodeId hit : hits(context, id, true)) ways.push_back({hit, {}});
  return ways.size() > 1 ? ways : std::vector<Alternative>{};
}

LawCase random_case(CaseRandom& random) {
  const std::string g = random.pick({"", " * g"});
  return {"block case(x: f32[T, D], g: f32[D], w: f32[D, F], u: f32[T, F]) -> (y: f32[T, F], s: f32[T]) {\n  y = (x" +
              g + ") @ w\n  s = sum(tanh(y) @ w.T * x" + g + ", over = D)\n}\n",
          random.sizes({"T", "D", "F"}),
          {}};
}

}  // namespace

const Law kReassociate{
    .name = "reassociate",
    .equation = "sum(x*sum(y*w, over = e), over = d) = sum(z*y, over = e) with z = sum(x*w, over = d)",
    .conditions = "z is computed anyway, and nothing else has d; no matrix multiplication is added",
    .kind = LawKind::Choice,
    .exactness = Exactness::Elastic,
    .random_case = random_case,
    .alternatives = reassociate};

}  // namespace coda
