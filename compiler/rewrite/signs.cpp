// What is known of a value's sign whatever the inputs are, from the records of ops and reductions.
#include <algorithm>

#include "compiler/rewrite/algebra.h"

namespace coda {

Algebra::Sign Algebra::sign(NodeId id) const {
  if (const auto it = signs_.find(id); it != signs_.end()) return it->second;
  const Sign result = sign_of(graph_[id]);
  return signs_[id] = result;
}

Algebra::Sign Algebra::sign_of(const Node& node) const {
  const auto least = [](Sign a, Sign b) { return std::min(a, b); };
  switch (node.kind) {
    case NodeKind::Constant:
      return node.value > 0 ? Sign::Positive : node.value == 0 ? Sign::NonNegative : Sign::Unknown;
    case NodeKind::Extent:
      return Sign::Positive;
    case NodeKind::Index:
      return Sign::NonNegative;
    case NodeKind::Input:
      return node.num_class == NumClass::Bool ? Sign::NonNegative : Sign::Unknown;
    case NodeKind::Contract: {
      Sign all = Sign::Positive;
      for (const NodeId arg : node.args) {  // even powers are never negative
        const bool even = std::count(node.args.begin(), node.args.end(), arg) % 2 == 0;
        const Sign one = sign(arg);
        all = least(all, even && one == Sign::Unknown ? Sign::NonNegative : one);
      }
      return all;
    }
    case NodeKind::Sum: {
      Sign all = Sign::NonNegative;
      bool some = false;
      for (size_t i = 0; i < node.args.size(); ++i) {
        const Node& term = graph_[node.args[i]];
        const double c = node.coefficients[i];
        const bool negative_constant = term.kind == NodeKind::Constant && term.value < 0 && c < 0;
        const Sign one = negative_constant ? Sign::Positive : c > 0 ? sign(node.args[i]) : Sign::Unknown;
        all = least(all, one);
        some = some || one == Sign::Positive;
      }
      return all == Sign::NonNegative && some ? Sign::Positive : all;
    }
    case NodeKind::View:
    case NodeKind::Cast:  // a positive number may round to 0
      return node.kind == NodeKind::View ? sign(node.args[0]) : least(Sign::NonNegative, sign(node.args[0]));
    case NodeKind::Put:
    case NodeKind::Gather:
      return least(Sign::NonNegative, sign(node.args[0]));
    case NodeKind::Apply:
    case NodeKind::Reduce:
      break;
  }
  const Algebraic& known = node.kind == NodeKind::Apply ? algebraic(*node.op) : algebraic(*node.reduction);
  const SignRule rule = known.sign;
  if (rule == SignRule::Unknown) return Sign::Unknown;
  if (rule == SignRule::NonNegative) return Sign::NonNegative;
  if (rule == SignRule::Positive) return Sign::Positive;
  Sign result = rule == SignRule::LikeAll ? Sign::Positive : Sign::Unknown;
  for (size_t i = 0; i < node.args.size(); ++i) {
    if ((known.signed_by >> i & 1) == 0) continue;
    const Sign one = sign(node.args[i]);
    result = rule == SignRule::LikeAll ? least(result, one) : std::max(result, one);
  }
  return result;
}

}  // namespace coda
