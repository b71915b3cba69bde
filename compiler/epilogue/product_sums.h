// Sums of products that share one accumulator: `x @ w.T + s * (a @ b.T)` runs over the depth of both in turn. What
// multiplies all of them stays behind the sum; a scalar that multiplies some is applied between two products.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/epilogue/normalise.h"

namespace coda {

/// Why the products of a sum have no common accumulator.
struct ProductSumObstacle {
  NodeId first = kNoNode, second = kNoNode;
  std::string reason, way_out;
  Span span;
};

class ProductSums {
 public:
  ProductSums(const Program& program, Graph& graph, Reindexer& reindexer, std::vector<GemmCandidate>& gemms)
      : program_(program), graph_(graph), reindexer_(reindexer), gemms_(gemms) {}

  /// `sum` with its products joined, as a new candidate; nothing if there are not several that can be.
  std::optional<NodeId> join(NodeId sum);
  const std::optional<ProductSumObstacle>& obstacle() const { return obstacle_; }

 private:
  /// coefficient * factors * node, where node is a product of two parameters or something else.
  struct Term {
    double coefficient;
    std::vector<NodeId> factors;
    NodeId node;
    int gemm;  ///< index of the candidate, or -1
  };
  void flatten(NodeId node, double coefficient, std::vector<NodeId> factors);
  int simple_gemm(NodeId node) const;
  /// A product whose dimensions are only named otherwise, as a product of renamed operands; -1 if it is none.
  int renamed_gemm(NodeId view);
  bool uses_gemm(NodeId node);
  /// Made of scalar parameters and numbers alone?
  bool is_number(NodeId node) const;
  std::vector<NodeId> take_common(std::vector<Term>& products) const;
  bool ordered(std::vector<Term>& products, Span span);
  void note(NodeId first, NodeId second, std::string reason, std::string way_out, Span span);
  NodeId chain(const std::vector<Term>& products, Span span);

  const Program& program_;
  Graph& graph_;
  Reindexer& reindexer_;
  std::vector<GemmCandidate>& gemms_;
  std::vector<Term> terms_;
  std::map<NodeId, bool> uses_gemm_;  ///< while one sum is looked at
  std::optional<ProductSumObstacle> obstacle_;
};

}  // namespace coda
