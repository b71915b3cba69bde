// Which elements of the accumulator and of the parameters a value uses, as affine maps of the coordinates it is asked
// for. This is what decides regions, segments, granules, and what can't be done.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "compiler/epilogue/affine.h"
#include "compiler/ir/graph.h"

namespace coda {

/// One use of the accumulator or of an input. Dimensions bound on the way (by a reduction, or by a put that is decided
/// later) have unique names with an `@`.
struct Read {
  NodeId leaf = kNoNode;
  Substitution at;  ///< every dimension of the leaf
  /// Coordinates narrower than their extent, where a put limits them: name → [first, first + count).
  std::map<std::string, std::pair<int64_t, int64_t>> limits;
  std::vector<NodeId> reductions;  ///< around it, outermost first
  bool gathered = false;           ///< an input read at a computed index: `at` lacks that dimension
};

/// A put whose place could not be resolved, and the coordinate it is asked at.
struct OpenPut {
  NodeId put = kNoNode;
  AffineMap coordinate;
  std::vector<NodeId> siblings;  ///< the puts of the same sum asked at the same coordinate, itself included
};

struct Uses {
  std::vector<Read> accumulator, inputs;
  std::vector<OpenPut> puts;       ///< asked at coordinates of the value itself, not below another open put
  std::vector<NodeId> reductions;  ///< reductions that use the accumulator, outermost first
  std::vector<NodeId> foreign;     ///< reductions that don't
  std::vector<NodeId> gathers;     ///< gathers from what uses the accumulator
  std::set<std::string> indexed;   ///< dimensions whose coordinate is a value (`index(N)`)
};

bool is_bound(const std::string& name);
/// The name before it was bound.
std::string original_name(const std::string& name);
bool is_reduction(const Node& node);

class UseCollector {
 public:
  UseCollector(const Graph& graph, NodeId accumulator) : graph_(graph), accumulator_(accumulator) {}

  /// Nodes of `stops` are not looked into (finished statistics).
  Uses collect(NodeId value, const std::set<NodeId>& stops = {});
  bool uses_accumulator(NodeId node);

 private:
  struct Context {
    Substitution env;
    std::map<std::string, std::pair<int64_t, int64_t>> limits;
    std::vector<NodeId> reductions;
    bool below_put = false;
  };
  void walk(NodeId id, const Context& context);
  void walk_put(const Node& node, NodeId id, Context context);
  void note_open_puts(const Node& sum, const Context& context);
  NamedDim bind(const NamedDim& dim, NodeId by);

  const Graph& graph_;
  NodeId accumulator_;
  Uses uses_;
  std::set<NodeId> stops_;
  std::set<std::string> visited_;
  std::map<NodeId, bool> uses_accumulator_;
  /// Coordinates inside a strided put: name → (outer variable, stride, shift): variable = stride * name + shift.
  struct Strided {
    NamedDim variable;
    int64_t stride, shift;
  };
  std::map<std::string, Strided> strided_;
};

}  // namespace coda
