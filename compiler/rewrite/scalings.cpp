// Laws from what op records say of scaling and of exponentials: a positive row factor passes relu, max and the like; an
// exponential over a sum is an exponential of a difference.
#include <algorithm>
#include <cmath>

#include "compiler/rewrite/context.h"

namespace coda {

namespace {

/// Splits a product's factors into positive light ones that lack a dimension of `dims` without `over`, and the rest.
void split_factors(const Algebra& algebra, const std::vector<NodeId>& factors, const std::vector<NamedDim>& dims,
                   std::vector<NodeId>& scale, std::vector<NodeId>& rest) {
  for (const NodeId factor : factors) {
    const Node& f = algebra.graph()[factor];
    const bool moves = !algebra.wide(factor) && f.dims.size() < dims.size() && !f.dims.empty() &&
                       f.kind != NodeKind::Constant && algebra.positive(factor);
    (moves ? scale : rest).push_back(factor);
  }
}

std::vector<NodeId> power(Algebra& algebra, const std::vector<NodeId>& factors, int degree) {
  std::vector<NodeId> result;
  for (const NodeId factor : factors) {
    const NodeId one = degree < 0 ? algebra.apply(reciprocal_op(), {factor}) : factor;
    for (int i = 0; i < std::abs(degree); ++i) result.push_back(one);
  }
  return result;
}

std::vector<Alternative> homogeneous(LawContext& context, NodeId id) {
  Algebra& algebra = context.algebra;
  const Node node = algebra.graph()[id];
  if (node.kind != NodeKind::Apply || algebraic(*node.op).scaled == 0 || !algebra.wide(id)) return {};
  // What every scaled argument that is not 0 has as a factor.
  std::vector<NodeId> common;
  bool first = true;
  const auto is_zero = [&](NodeId arg) {
    const Node& a = algebra.graph()[arg];
    return a.kind == NodeKind::Constant && a.value == 0;
  };
  const auto coefficient = [&](NodeId arg, std::vector<NodeId>& factors) {
    const auto terms = algebra.terms(arg);
    factors = terms.size() == 1 ? algebra.factors(terms[0].node) : std::vector<NodeId>{arg};
    return terms.size() == 1 ? terms[0].coefficient : 1.0;
  };
  for (size_t i = 0; i < node.args.size(); ++i) {
    if ((algebraic(*node.op).scaled >> i & 1) == 0 || is_zero(node.args[i])) continue;
    std::vector<NodeId> factors, scale, rest;
    coefficient(node.args[i], factors);
    split_factors(algebra, factors, node.dims, scale, rest);
    std::sort(scale.begin(), scale.end());
    if (first) {
      common = scale;
    } else {
      std::vector<NodeId> both;
      std::set_intersection(common.begin(), common.end(), scale.begin(), scale.end(), std::back_inserter(both));
      common = both;
    }
    first = false;
  }
  if (common.empty()) return {};
  std::vector<NodeId> args = node.args;
  for (size_t i = 0; i < args.size(); ++i) {
    if ((algebraic(*node.op).scaled >> i & 1) == 0 || is_zero(args[i])) continue;
    std::vector<NodeId> factors;
    const double c = coefficient(args[i], factors);
    for (const NodeId gone : common) factors.erase(std::find(factors.begin(), factors.end(), gone));
    args[i] = algebra.linear({{c, algebra.product(factors)}}, node.span);
  }
  const NodeId inner = algebra.apply(node.op, args, node.span);
  algebra.note(kHomogeneous, inner, {{"r", common[0]}, {"f(x)", inner}}, node.span);
  if (algebraic(*node.op).degree == 0) return {{inner, {}}, {id, {}}};  // a truth value, it may be
  std::vector<NodeId> factors = power(algebra, common, algebraic(*node.op).degree);
  factors.push_back(inner);
  return {{algebra.product(factors, {}, node.span), {}}, {id, {}}};
}

std::vector<Alternative> factor_of_reduction(LawContext& context, NodeId id) {
  Algebra& algebra = context.algebra;
  const Node node = algebra.graph()[id];
  if (node.kind != NodeKind::Reduce || algebraic(*node.reduction).degree == 0) return {};
  std::vector<NodeId> scale, rest;
  const auto terms = algebra.terms(node.args[0]);
  const bool scaled = terms.size() == 1 && terms[0].coefficient != 1 && terms[0].coefficient > 0;
  if (terms.size() != 1 || terms[0].coefficient <= 0) return {};
  for (const NodeId factor : algebra.factors(terms[0].node)) {
    const bool lacks = !meet(algebra.graph()[factor].dims, node.over);
    (lacks && algebra.positive(factor) ? scale : rest).push_back(factor);
  }
  if ((scale.empty() && !scaled) || rest.empty() || !algebra.may_pass(scale, node.over, true)) return {};
  const NodeId body = algebra.product(rest);
  if (!subset(node.over, algebra.graph()[body].dims)) return {};
  const NodeId inner = algebra.graph().reduce(node.reduction, body, node.over, node.span);
  algebra.note(kFactorOfReduction, inner, {{"r", scale.empty() ? node.args[0] : scale[0]}}, node.span);
  auto factors = power(algebra, scale, algebraic(*node.reduction).degree);
  factors.push_back(inner);
  const double c = std::pow(terms[0].coefficient, algebraic(*node.reduction).degree);
  return {{algebra.linear({{c, algebra.product(factors)}}, node.span), {}}};
}

std::vector<Alternative> exponential_ratio(LawContext& context, NodeId id) {
  Algebra& algebra = context.algebra;
  const Node node = algebra.graph()[id];
  if (node.kind != NodeKind::Contract) return {};
  for (const NodeId power : node.args) {
    const Node f = algebra.graph()[power];
    if (f.kind != NodeKind::Apply || algebraic(*f.op).logarithm.empty()) continue;
    for (const NodeId inverse : node.args) {
      const Node g = algebra.graph()[inverse];
      if (g.kind != NodeKind::Apply || g.op != reciprocal_op() || !algebra.positive(g.args[0])) continue;
      const Node u = algebra.graph()[g.args[0]];
      if (u.kind != NodeKind::Contract || u.over.empty()) continue;  // a sum of exponentials, say; not any quotient
      std::vector<NodeId> rest = node.args;
      rest.erase(std::find(rest.begin(), rest.end(), power));
      rest.erase(std::find(rest.begin(), rest.end(), inverse));
      const NodeId log = algebra.apply(find_op(algebraic(*f.op).logarithm), {g.args[0]}, node.span);
      const NodeId ratio = algebra.apply(f.op, {algebra.linear({{1, f.args[0]}, {-1, log}})}, node.span);
      algebra.note(kExponentialRatio, ratio, {{"a", f.args[0]}, {"u", g.args[0]}}, node.span);
      rest.push_back(ratio);
      return {{algebra.product(rest, node.over, node.span), {}}, {id, {}}};
    }
  }
  return {};
}

LawCase under_relu(CaseRandom& random) {
  const std::string f = random.pick({"max(u, 0)", "abs(u)", "select(u > 0, u, 0.25 * u)", "sign(u)"});
  return {"block case(x: f32[T, D], w: f32[D, F], r: f32[T]) -> (y: f32[T, F]) {\n  let u = (x @ w) * exp(r)\n  y = " +
              f + "\n}\n",
          random.sizes({"T", "D", "F"}),
          {}};
}

LawCase in_reduction(CaseRandom& random) {
  const std::string f = random.pick({"max", "absmax", "min"});
  return {"block case(x: f32[T, D], r: f32[T]) -> (y: f32[T]) {\n  y = " + f + "(x * exp(r), over = D)\n}\n",
          random.sizes({"T", "D"}),
          {}};
}

LawCase softmax(CaseRandom& random) {
  const std::string f = random.pick({"exp", "exp2"}), g = random.pick({"", " * g"});
  return {"block case(x: f32[T, D], g: f32[D]) -> (y: f32[T, D]) {\n  y = " + f + "(x) / sum(" + f + "(x), over = D)" +
              g + "\n}\n",
          random.sizes({"T", "D"}),
          {}};
}

}  // namespace

const Law kHomogeneous{.name = "homogeneous",
                       .equation = "f(r*x) = r**p*f(x)",
                       .conditions = "r is positive whatever the inputs are; the op's record gives p",
                       .kind = LawKind::Choice,
                       .exactness = Exactness::Reals,
                       .random_case = under_relu,
                       .alternatives = homogeneous};
const Law kFactorOfReduction{.name = "factor out of a reduction",
                             .equation = "f(r*x, over = d) = r**p*f(x, over = d)",
                             .conditions = "r is positive whatever the inputs are and lacks d; f's record gives p",
                             .kind = LawKind::Directed,
                             .exactness = Exactness::Reals,
                             .random_case = in_reduction,
                             .alternatives = factor_of_reduction};
const Law kExponentialRatio{.name = "exponential ratio",
                            .equation = "exp(a)/u = exp(a - log(u))",
                            .conditions = "u is a positive sum",
                            .kind = LawKind::Choice,
                            .exactness = Exactness::Reals,
                            .random_case = softmax,
                            .alternatives = exponential_ratio};

}  // namespace coda
