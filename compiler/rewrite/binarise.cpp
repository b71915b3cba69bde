// A contraction of three or more operands as two of fewer, where no product that exists helps: the pair whose own sum
// costs least goes first.
#include <algorithm>

#include "compiler/rewrite/context.h"

namespace coda {

namespace {

/// Factors that share a dimension of the result form one operand; a factor with summed dimensions alone joins one that
/// has them all.
bool more_than_two(const Algebra& algebra, const Node& node) {
  const Graph& graph = algebra.graph();
  std::vector<std::vector<NamedDim>> groups;
  for (const NodeId arg : node.args) {
    auto dims = graph[arg].dims;
    if (!meet(dims, node.dims)) continue;
    std::erase_if(groups, [&](const std::vector<NamedDim>& group) {
      const bool joined = meet(intersection(group, dims), node.dims);
      if (joined) dims = set_union(dims, group);
      return joined;
    });
    groups.push_back(dims);
  }
  if (groups.size() != 2) return groups.size() > 2;
  return std::any_of(node.args.begin(), node.args.end(), [&](NodeId arg) {
    const auto& dims = graph[arg].dims;
    return !meet(dims, node.dims) && !subset(dims, groups[0]) && !subset(dims, groups[1]);
  });
}

std::vector<Alternative> binarise(LawContext& context, NodeId id) {
  Algebra& algebra = context.algebra;
  const Node node = algebra.graph()[id];
  if (!algebra.is_gemm(id) || node.args.size() < 3 || !more_than_two(algebra, node)) return {};
  NodeId best = kNoNode, pair = kNoNode;
  double least = 0;
  for (size_t i = 0; i < node.args.size(); ++i) {
    for (size_t j = i + 1; j < node.args.size(); ++j) {
      std::vector<NodeId> rest;
      for (size_t k = 0; k < node.args.size(); ++k) {
        if (k != i && k != j) rest.push_back(node.args[k]);
      }
      const auto both = all_dims(algebra.graph(), {node.args[i], node.args[j]});
      const auto inner = difference(intersection(node.over, both), all_dims(algebra.graph(), rest));
      if (inner.empty()) continue;
      const NodeId first = algebra.product({node.args[i], node.args[j]}, inner, node.span);
      rest.push_back(first);
      const double cost = algebra.sizes().elements(both) + algebra.sizes().elements(all_dims(algebra.graph(), rest));
      if (best != kNoNode && cost >= least) continue;
      least = cost;
      pair = first;
      best = algebra.product(rest, difference(node.over, inner), node.span);
    }
  }
  if (best == kNoNode || best == id) return {};
  algebra.note(kBinarise, pair, {{"sum(a*b, over = d)", pair}}, node.span);
  return {{best, {}}};
}

LawCase random_case(CaseRandom& random) {
  const std::string a = random.pick({"a", "tanh(a)", "exp(a)"});
  return {"block case(a: f32[T, D], b: f32[D, F], c: f32[F, N]) -> (y: f32[T, N]) {\n  y = sum(" + a +
              " * b * c, over = (D, F))\n}\n",
          random.sizes({"T", "D", "F", "N"}),
          {}};
}

}  // namespace

const Law kBinarise{.name = "two at a time",
                    .equation = "sum(a*b*c, over = (d, e)) = sum(sum(a*b, over = d)*c, over = e)",
                    .conditions = "c lacks d; the pair that costs least goes first",
                    .kind = LawKind::Directed,
                    .exactness = Exactness::Elastic,
                    .random_case = random_case,
                    .alternatives = binarise};

}  // namespace coda
