// Evaluates a node "at other coordinates" symbolically: index maps are pushed down to inputs and the accumulator, and
// puts are resolved where it can be proved which one a coordinate falls into.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>

#include "compiler/epilogue/affine.h"
#include "compiler/epilogue/dim_facts.h"
#include "compiler/ir/graph.h"

namespace coda {

class Reindexer {
 public:
  Reindexer(Graph& graph, const DimFacts& facts) : graph_(graph), facts_(facts) {}

  /// The node whose value at coordinates c is `node`'s value at substitution(c). Views remain only directly on inputs,
  /// the accumulator, indices and puts that could not be resolved.
  NodeId at(NodeId node, const Substitution& substitution);

  /// A dimension of the same extent whose name is used nowhere else.
  NamedDim fresh(const NamedDim& like);

  /// Treat `node` as a leaf: `read` builds its value at the given (relevant) substitution.
  void set_leaf(NodeId node, std::function<NodeId(const Substitution&)> read);
  /// Other names and groupings of dimensions: reductions over `T` become reductions over what stands for it.
  void set_alias(Substitution alias) {
    alias_ = std::move(alias);
    memo_.clear();
  }
  /// A node read at a substitution of its own dimensions, as Views on it.
  NodeId view_leaf(NodeId node, const Substitution& substitution);

  /// Where a coordinate falls that a put's map may or may not reach.
  struct Landing {
    enum class Kind { Inside, Outside, Unknown } kind = Kind::Unknown;
    Substitution digits;  ///< Inside: what the put argument's dimensions are
  };
  Landing land(const AffineMap& put, const AffineMap& coordinate) const;

  /// Where a put's digits make up a whole dimension, and it is asked at s*d + e: the digits (outermost first, under
  /// names that aren't `taken`) that make d, so that elements s apart lie in one group of the put (pairs in a block).
  /// Nothing if s does not divide it.
  std::optional<std::vector<NamedDim>> digits_in_steps(const AffineMap& put, const AffineMap& coordinate,
                                                       const std::function<bool(const std::string&)>& taken);

 private:
  NodeId rebuild(const Node& node, NodeId id, const Substitution& relevant);
  NodeId rebuild_reduction(const Node& node, const Substitution& relevant);
  bool became_zero(NodeId source, NodeId result) const;
  NodeId rebuild_sum(const Node& node, const Substitution& relevant);
  NodeId rebuild_put(const Node& node, const Substitution& relevant);
  NodeId rebuild_gather(const Node& node, const Substitution& relevant);
  /// Renames `bound` dimensions that the substitution would capture.
  Substitution open(std::vector<NamedDim>& bound, const Substitution& relevant);

  Graph& graph_;
  const DimFacts& facts_;
  std::map<std::pair<NodeId, std::string>, NodeId> memo_;
  std::map<NodeId, std::function<NodeId(const Substitution&)>> leaves_;
  Substitution alias_;
  int fresh_ = 0;
};

}  // namespace coda
