// Applies the directed laws bottom-up to a fixed point. Where a law leaves a choice, the caller's decision is taken and
// the site is reported, so that the planner can weigh the alternatives by replanning.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "compiler/rewrite/context.h"

namespace coda {

/// Where a law applies, by law and node. Nodes are hash-consed, so a site keeps its name through replanning.
using LawSite = std::pair<const Law*, NodeId>;
/// The alternative taken at each site; the first where none is named.
using LawDecisions = std::map<LawSite, int>;

struct Rewriting {
  std::vector<NodeId> roots;
  std::map<LawSite, int> sites;  ///< number of alternatives, where more than one
  std::vector<NodeId> folded;    ///< contractions whose column factors must go to the weights
  int fired = 0;
  bool settled = true;  ///< false: the budget ran out
};

struct LawEngine {
  Algebra& algebra;
  std::vector<const Law*> laws;  ///< directed ones and choices, in order
  std::set<int> late_params;     ///< parameters that arrive after everything else: gradients
  std::set<int> exact_params;    ///< parameters with as many digits as sums have
  int budget = 400;

  /// `step` is told of each firing: the law and the roots before and after (for checks).
  Rewriting run(
      std::vector<NodeId> roots, const LawDecisions& decisions,
      const std::function<void(const Law&, const std::vector<NodeId>&, const std::vector<NodeId>&)>& step = {});
};

}  // namespace coda
