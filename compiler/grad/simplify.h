// Constructors that keep a derived program small: products without ones, zeros and nested sums, linear combinations
// with like terms collected. Exact over the reals; index maps stay where the program has them.
#pragma once

#include <vector>

#include "compiler/ir/graph.h"

namespace coda {

struct ScaledNode {
  double coefficient = 1;
  NodeId node = kNoNode;
};

class Simplifier {
 public:
  enum class RowFactors : uint8_t {
    Stay,  ///< only scalars leave a sum
    /// So does a factor without a summed dimension, `(diag(r) X) W = diag(r) (X W)`, unless it is known a product
    /// earlier than what it scales: a norm's statistic leaves the product behind it, but not the next one.
    Leave,
  };
  explicit Simplifier(Graph& graph, RowFactors row_factors = RowFactors::Stay)
      : graph_(graph), row_factors_(row_factors) {}

  /// Real-valued: sum over `over` of the product; a summed dimension that no factor has counts its elements.
  NodeId product(std::vector<NodeId> factors, const std::vector<NamedDim>& over = {}, Span span = {});
  NodeId linear(const std::vector<ScaledNode>& terms, Span span = {});
  NodeId view(NodeId x, const NamedDim& dim, const AffineMap& map, Span span = {});
  NodeId put(NodeId x, const NamedDim& dim, const AffineMap& map, Span span = {});
  NodeId as_real(NodeId x);
  /// The node with `args` in place of its own.
  NodeId rebuild(const Node& node, std::vector<NodeId> args);

  bool is_zero(NodeId id) const;
  Graph& graph() { return graph_; }

 private:
  NodeId summed(const std::vector<NodeId>& factors, const std::vector<NamedDim>& over, Span span);
  /// Matrix products on the longest way to the node.
  int depth(NodeId id);

  Graph& graph_;
  std::vector<int> depths_;  // by node, as far as asked
  RowFactors row_factors_;
};

/// All dimensions of `nodes`, sorted.
std::vector<NamedDim> dims_of(const Graph& graph, const std::vector<NodeId>& nodes);

}  // namespace coda
