// What a law sees of the program around a node: the contractions it has already, which cost nothing to use again.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "compiler/rewrite/algebra.h"

namespace coda {

class LawContext {
 public:
  explicit LawContext(Algebra& algebra, std::set<int> late_params = {}, std::set<int> exact_params = {})
      : algebra(algebra), late_params_(std::move(late_params)), exact_params_(std::move(exact_params)) {}

  /// The program as it stands now.
  void look_at(const std::vector<NodeId>& nodes);
  /// Contractions with summed dimensions that the program computes.
  const std::vector<NodeId>& contractions() const { return contractions_; }
  bool computes(NodeId contraction) const { return computed_.contains(contraction); }
  /// Multiplications on the longest path to a value; what depends on a late parameter (a gradient that comes in) is
  /// deeper than everything that doesn't.
  int depth(NodeId node);
  /// Matrix multiplications below `node` that the program does not do yet.
  std::set<NodeId> added_gemms(NodeId node) const;
  bool is_below(NodeId node, NodeId root) const;
  /// A product that is read as exactly as it is summed: what cancels in it is lost.
  bool sums_lose(NodeId gemm) const;

  Algebra& algebra;
  std::set<NodeId> settled;  ///< results of symmetric laws: not turned back

 private:
  std::set<int> late_params_, exact_params_;
  std::vector<NodeId> contractions_;
  std::set<NodeId> computed_;
  std::map<NodeId, int> depths_;
};

}  // namespace coda
