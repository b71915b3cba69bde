// Statistics describe a tensor that is stored as it is stored: where a statistic's body uses exactly a value that this
// kernel also stores in a narrower type, it uses it rounded.
#pragma once

#include <map>
#include <vector>

#include "compiler/epilogue/law.h"
#include "compiler/ir/graph.h"

namespace coda {

class StoredValues {
 public:
  /// `values` are the outputs' values in `graph`, in the order of `program.outputs`; those named in `tile` are stored
  /// from the tile.
  StoredValues(const Program& program, Graph& graph, const std::vector<NodeId>& values, const std::vector<bool>& tile,
               std::vector<LawUse>& laws);

  /// `value` with every reduction in it taken of rounded values.
  NodeId in_statistics(NodeId value);

 private:
  NodeId rounded(NodeId node);
  NodeId rebuild(NodeId node, NodeId (StoredValues::*of)(NodeId));

  const Program& program_;
  Graph& graph_;
  std::map<NodeId, int> stored_;  ///< value → parameter
  std::vector<LawUse>& laws_;
  std::map<NodeId, NodeId> in_statistics_, rounded_;
};

}  // namespace coda
