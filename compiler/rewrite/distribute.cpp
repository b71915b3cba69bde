// A product over a sum, where that frees a factor or finds something computed already: LayerNorm's mean and bias leave
// the operand of a GEMM as rank-1 corrections. A plain residual sum stays whole.
#include <algorithm>

#include "compiler/rewrite/context.h"
#include "compiler/rewrite/hits.h"

namespace coda {

namespace {

std::vector<NodeId> without(const std::vector<NodeId>& nodes, size_t index) {
  std::vector<NodeId> rest = nodes;
  rest.erase(rest.begin() + static_cast<ptrdiff_t>(index));
  return rest;
}

/// The terms of `sum` times `rest`, each summed over `over`.
std::vector<Term> distributed(Algebra& algebra, NodeId sum, const std::vector<NodeId>& rest, const Node& node) {
  std::vector<Term> terms;
  for (const Term& term : algebra.terms(sum)) {
    std::vector<NodeId> factors = rest;
    factors.push_back(term.node);
    terms.push_back({term.coefficient, algebra.product(factors, node.over, node.span)});
  }
  return terms;
}

bool is_wide_sum(const Algebra& algebra, NodeId id) {
  return algebra.graph()[id].kind == NodeKind::Sum && algebra.graph()[id].args.size() > 1 && algebra.wide(id);
}

/// A light factor with a dimension of the result, or a wide one that is an operand of another GEMM already.
bool pays(LawContext& context, NodeId id, NodeId sum) {
  const Algebra& algebra = context.algebra;
  const Node& node = algebra.graph()[id];
  for (const Term& term : algebra.terms(sum)) {
    for (const NodeId factor : algebra.factors(term.node)) {
      const Node& f = algebra.graph()[factor];
      if (!algebra.wide(factor)) {
        if (meet(f.dims, node.dims) && f.kind != NodeKind::Input) return true;
        continue;
      }
      if (f.kind == NodeKind::Input) continue;
      for (const NodeId other : context.contractions()) {
        const auto& args = algebra.graph()[other].args;
        if (other == id || !algebra.is_gemm(other)) continue;
        if (std::find(args.begin(), args.end(), factor) != args.end()) return true;
      }
    }
  }
  return false;
}

std::vector<Alternative> distribute(LawContext& context, NodeId id) {
  Algebra& algebra = context.algebra;
  if (!algebra.is_gemm(id) || context.sums_lose(id)) return {};
  const Node node = algebra.graph()[id];
  for (size_t i = 0; i < node.args.size(); ++i) {
    if (!is_wide_sum(algebra, node.args[i]) || !pays(context, id, node.args[i])) continue;
    const auto terms = distributed(algebra, node.args[i], without(node.args, i), node);
    std::set<NodeId> added;
    for (const Term& term : terms) added.merge(context.added_gemms(term.node));
    if (added.size() > 1) continue;
    // Beside a rank-1 part the operand must be read as it was summed: its column factors go to the weights.
    Alternative split{algebra.linear(terms, node.span), {added.begin(), added.end()}};
    algebra.note(kDistribute, split.node, {{"(a + b)", node.args[i]}}, node.span);
    return {split, {id, {}}};
  }
  return {};
}

std::vector<Alternative> distribute_to_hit(LawContext& context, NodeId id) {
  Algebra& algebra = context.algebra;
  const Node node = algebra.graph()[id];
  if (node.kind != NodeKind::Contract || node.over.empty() || algebra.is_gemm(id)) return {};
  for (size_t i = 0; i < node.args.size(); ++i) {
    if (!is_wide_sum(algebra, node.args[i])) continue;
    const auto terms = distributed(algebra, node.args[i], without(node.args, i), node);
    const bool hit = std::any_of(terms.begin(), terms.end(), [&](const Term& term) {
      const Node& part = algebra.graph()[term.node];
      return part.kind == NodeKind::Contract && !part.over.empty() && !hits(context, term.node, false).empty();
    });
    if (!hit) continue;
    const NodeId result = algebra.linear(terms, node.span);
    return {{algebra.note(kDistributeToHit, result, {{"(a + b)", node.args[i]}}, node.span), {}}};
  }
  return {};
}

LawCase mean_through_gemm(CaseRandom& random) {
  const std::string m = random.pick({"mean(h, over = D)", "max(h, over = D)"}), g = random.pick({"", " * g"});
  return {"block case(x: f32[T, D], g: f32[D], w: f32[D, F]) -> (y: f32[T, F]) {\n  let h = exp(x)\n  y = ((h - " + m +
              ")" + g + ") @ w\n}\n",
          random.sizes({"T", "D", "F"}),
          {}};
}

LawCase part_of_statistic(CaseRandom& random) {
  const std::string c = random.pick({"", "2 * ", "exp(-1) * "}), f = random.pick({"tanh(y)", "exp(y)"});
  return {
      "block case(x: f32[T, D], w: f32[D, F], b: f32[T, D]) -> (z: f32[T, F], s: f32[T]) {\n  let y = x @ w\n"
      "  z = y\n  s = sum((x + " +
          c + "b) * (" + f + " @ w.T), over = D)\n}\n",
      random.sizes({"T", "D", "F"}),
      {}};
}

}  // namespace

const Law kDistribute{.name = "distribute",
                      .equation = "sum((a + b)*w, over = d) = sum(a*w, over = d) + sum(b*w, over = d)",
                      .conditions =
                          "one matrix multiplication results, and a light factor of the result comes free (a mean, "
                          "a scale), or a part is an operand elsewhere; w has fewer digits than f32, or what cancels "
                          "between the parts would be lost",
                      .kind = LawKind::Choice,
                      .exactness = Exactness::Elastic,
                      .random_case = mean_through_gemm,
                      .alternatives = distribute};
const Law kDistributeToHit{.name = "distribute to a known product",
                           .equation = "sum((a + b)*c, over = d) = sum(a*c, over = d) + sum(b*c, over = d)",
                           .conditions = "some part is then a product that is computed anyway",
                           .kind = LawKind::Directed,
                           .exactness = Exactness::Reals,
                           .random_case = part_of_statistic,
                           .alternatives = distribute_to_hit};

}  // namespace coda
