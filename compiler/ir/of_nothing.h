// What values are where a dimension is empty: laws hold for finite values, and nothing makes values that aren't: its
// mean, its greatest, the reciprocal of its sum. A factor that is taken past a sum over nothing must not be one.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "compiler/ir/graph.h"

namespace coda {

/// Of a graph that may grow.
class OfNothing {
 public:
  explicit OfNothing(const Graph& graph) : graph_(graph) {}

  /// Whether a value is infinite or no number (`positive`: or not above 0) by what makes `extent` 0, whatever the
  /// inputs are.
  bool spoils(NodeId value, const Dim& extent, bool positive = false);

 private:
  /// The value where `symbol` is 0, if it is the same for all inputs.
  std::optional<double> at(NodeId id, const std::string& symbol);
  std::optional<double> at(const Node& node, const std::string& symbol);

  const Graph& graph_;
  std::map<std::pair<std::string, NodeId>, std::optional<double>> known_;
};

}  // namespace coda
