// Outputs and statistics of rows of a kernel without a product, cut where joins begin and end: a piece runs through one
// side of a join, so that no element has to ask which side it lies on. What can't be cut stays whole and asks.
#pragma once

#include <string>
#include <vector>

#include "compiler/epilogue/reads.h"
#include "compiler/epilogue/reindex.h"

namespace coda {

struct RowPiece {
  int param = -1;  ///< of an output
  NodeId value = kNoNode;
  std::vector<NamedDim> dims;    ///< outermost first, as they lie in memory
  std::vector<AffineMap> index;  ///< one an axis of the parameter
  std::string name;              ///< for messages
  Span span;
};

/// Appends the pieces of `whole`, which cover it.
void cut_at_joins(Graph& graph, Reindexer& reindexer, const DimFacts& facts, RowPiece whole,
                  std::vector<RowPiece>& pieces);

}  // namespace coda
