// The sum of squares about the mean, in one pass with the mean: LayerNorm's variance needs no second look at the row.
#include <cmath>

#include "compiler/ir/custom_reduction.h"
#include "compiler/rewrite/context.h"

namespace coda {

namespace {

/// Squares of `x` about its mean: states (count, mean, squares), each element lifted as (1, x, 0).
NodeId centred_squares(Graph& graph, NodeId x, const std::vector<NamedDim>& over, Span span) {
  static const Reduction* const reduction = *custom_reduction_from_text(kCentredSquares);
  const NodeId state = graph.apply(pack_op(3), {graph.constant(1), x, graph.constant(0)}, span);
  return graph.reduce(reduction, state, over, span);
}

std::vector<Alternative> moments(LawContext& context, NodeId id) {
  Algebra& algebra = context.algebra;
  const Node node = algebra.graph()[id];
  if (node.kind != NodeKind::Contract || node.over.empty() || node.args.size() != 2 || node.args[0] != node.args[1]) {
    return {};
  }
  const auto terms = algebra.terms(node.args[0]);
  if (terms.size() != 2) return {};
  Dim count(1);
  for (const NamedDim& dim : node.over) count = count * dim.extent;
  const NodeId share = algebra.apply(reciprocal_op(), {algebra.graph().extent(count)});
  for (size_t i = 0; i < 2; ++i) {
    const Term h = terms[i], m = terms[1 - i];
    if (std::abs(h.coefficient) != 1 || m.coefficient != -h.coefficient) continue;
    if (m.node != algebra.product({share, algebra.product({h.node}, node.over)})) continue;
    const NodeId squares = centred_squares(algebra.graph(), h.node, node.over, node.span);
    return {{algebra.note(kMoments, squares, {{"h", h.node}, {"m", m.node}}, node.span), {}}};
  }
  return {};
}

LawCase random_case(CaseRandom& random) {
  const std::string h = random.pick({"x", "(x + g)", "exp(x)"});
  return {"block case(x: f32[T, D], g: f32[D]) -> (y: f32[T]) {\n  let h = " + h +
              "\n  let c = h - mean(h, over = D)\n  y = sqrt(mean(c * c, over = D) + 1)\n}\n",
          random.sizes({"T", "D"}),
          {}};
}

}  // namespace

const Law kMoments{.name = "moments",
                   .equation = "sum((h - m)**2, over = d) = squares about the mean of h, in one pass",
                   .conditions = "m is the mean of h over d",
                   .kind = LawKind::Directed,
                   .exactness = Exactness::Reals,
                   .random_case = random_case,
                   .alternatives = moments};

}  // namespace coda
