// The table of laws: identities and the normal form, then directed laws in the order in which they are tried, then what
// the planner does.
#include <algorithm>

#include "compiler/rewrite/law.h"

namespace coda {

extern const Law kCommuted, kTransposed, kCommonSubexpression;

std::span<const Law* const> law_table() {
  static const Law* const table[] = {
      &kCommuted,       &kTransposed,       &kCommonSubexpression,
      &kFactorOut,      &kSeparateSums,     &kLinearReduction,
      &kNestedSums,     &kSumOfJoin,        &kSumOfConstant,
      &kSumOverOne,     &kQuotient,         &kLinearOp,
      &kCancel,         &kLikeTerms,        &kMapInward,
      &kMapOfMap,       &kPieceOfJoin,      &kMoments,
      &kDistribute,     &kReassociate,      &kDistributeToHit,
      &kBinarise,       &kExponentialRatio, &kFactorOfReduction,
      &kHomogeneous,    &kPlaceEarly,       &kColumnFactor,
      &kSplitReduction, &kAccumulatorInput, &kRecompute,
      &kPairing,        &kRegions,          &kOnePass,
  };
  return table;
}

const Law* find_law(std::string_view name) {
  const auto table = law_table();
  const auto it = std::find_if(table.begin(), table.end(), [&](const Law* law) { return law->name == name; });
  return it == table.end() ? nullptr : *it;
}

}  // namespace coda
