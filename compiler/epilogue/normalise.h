// From source semantics to the form that lowering works on: bound symbols are numbers, one contraction of two
// parameters is the GEMM, what can be moved out of it by algebra is moved out, and gathers from the tile are sums.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "compiler/epilogue/law.h"
#include "compiler/epilogue/reindex.h"
#include "compiler/ir/graph.h"

namespace coda {

class Diagnostics;

class ProductSums;
struct ProductSumObstacle;

/// A contraction of two operands over one dimension, both parameters or index maps of parameters; or a sum of several.
struct GemmCandidate {
  NodeId node = kNoNode;
  NodeId operands[2] = {kNoNode, kNoNode};
  NamedDim depth;
  std::vector<NamedDim> batch;  ///< dimensions of both operands besides the depth
  /// Other products that are summed before it, as GemmTerm says; `node` is then the whole sum.
  struct Earlier {
    NodeId operands[2];
    NamedDim depth;
    NodeId scale;
  };
  std::vector<Earlier> earlier;
};

class Normaliser {
 public:
  Normaliser(const Program& program, Graph& graph, Reindexer& reindexer, Diagnostics& diagnostics);
  ~Normaliser();

  /// The normalised node in `graph`. Errors (an operand that can't be made a parameter) are reported once; `where`
  /// stands in for code that is not the user's.
  NodeId run(NodeId source, Span where) {
    where_ = where;
    return run(source);
  }
  const std::vector<GemmCandidate>& gemms() const { return gemms_; }
  /// Why the products of a sum are several, if they are.
  const std::optional<ProductSumObstacle>& obstacle() const;
  std::vector<LawUse>& laws() { return laws_; }

 private:
  NodeId run(NodeId source);
  NodeId convert(const Node& node);
  NodeId contract(std::vector<NodeId> args, std::vector<NamedDim> over, Span span);
  NodeId gemm(std::vector<NodeId> factors, const std::vector<NamedDim>& over, std::vector<NodeId> outside, Span span);
  NodeId gather(const Node& node, NodeId argument, NodeId index);
  NodeId sum(const Node& node, std::vector<NodeId> args);
  NamedDim join_depth(const std::vector<NamedDim>& over, NodeId (&operands)[2]);
  /// Splits a factor into parts with and without the summed dimensions.
  NodeId where_some(NodeId factor, const std::vector<NamedDim>& over);
  void take_apart(NodeId factor, const std::vector<NamedDim>& over, std::vector<NodeId>& inside,
                  std::vector<NodeId>& outside, Span span);
  bool uses_gemm(NodeId node);
  bool is_parameter(NodeId node) const;
  void log(const char* law, std::string detail, Span span);
  NamedDim bound(const NamedDim& dim) const { return {dim.name, dim.extent.substitute(program_.bound)}; }
  AffineMap bound(const AffineMap& map) const;

  const Program& program_;
  const Graph& source_;
  Graph& graph_;
  Reindexer& reindexer_;
  Diagnostics& diagnostics_;
  Span where_;
  std::map<NodeId, NodeId> done_;
  std::vector<GemmCandidate> gemms_;
  std::unique_ptr<ProductSums> sums_;
  std::map<std::string, NamedDim> joined_depths_;
  std::map<NodeId, bool> uses_gemm_;
  std::vector<LawUse> laws_;
};

}  // namespace coda
