// Evaluates nodes in frames. One member a node kind; sums over dimensions (Contract, Reduce) run in bounded chunks, and
// what they gave is remembered by node and coordinates, as they are what costs.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/reference/frame.h"
#include "compiler/reference/reference.h"
#include "compiler/reference/values.h"

namespace coda {

class Evaluator {
 public:
  Evaluator(const Program& program, Bindings bindings, std::vector<ReferenceInput> inputs, ReferenceOptions options)
      : program_(program),
        bindings_(std::move(bindings)),
        inputs_(std::move(inputs)),
        options_(options),
        workers_(options.threads) {}

  /// Fails if something reachable from the outputs has no value here: extents, arrays, index maps.
  Status check();

  /// Values of a node over the axes that the frame gives its dimensions.
  ValuesRef evaluate(NodeId id, const Frame& frame);

  int64_t extent(const NamedDim& dim) const { return value_of(dim.extent); }
  AxisId new_axis() { return next_axis_++; }
  int64_t multiply_adds() const { return multiply_adds_; }

  /// No block of an elementwise value should have many more elements, nor of a contraction's operand.
  int64_t block() const { return options_.block; }
  int64_t operand_block() const { return 16 * options_.block; }

 private:
  using Compute = Values (Evaluator::*)(const Node&, const Frame&);
  static Compute compute_of(NodeKind kind);

  Values input(const Node& node, const Frame& frame);
  Values constant(const Node& node, const Frame& frame);
  Values index(const Node& node, const Frame& frame);
  Values product(const Node& node, const Frame& frame);
  Values sum(const Node& node, const Frame& frame);
  Values apply(const Node& node, const Frame& frame);
  Values cast(const Node& node, const Frame& frame);
  Values view(const Node& node, const Frame& frame);
  Values put(const Node& node, const Frame& frame);
  Values gather(const Node& node, const Frame& frame);
  Values contract(const Node& node, const Frame& frame);
  Values reduce(const Node& node, const Frame& frame);

  ValuesRef evaluate_summed(NodeId id, const Frame& frame);
  std::vector<ValuesRef> evaluate_args(const Node& node, const Frame& frame);
  Values elementwise(const Node& node, const Frame& frame, double (*element)(const Node&, std::span<const double>));
  /// Sub-frames of `frame` with the summed dimensions bound to chunks, one after the other.
  void for_chunks(const Node& node, const Frame& frame, const std::vector<AxisId>& axes,
                  const std::vector<int64_t>& chunks, const std::function<void(const Frame&)>& body);
  int64_t value_of(const Dim& dim) const { return dim.evaluate(bindings_).value(); }
  Status check_node(const Node& node) const;
  Status check_input(const Node& node) const;

  const Program& program_;
  Bindings bindings_;
  std::vector<ReferenceInput> inputs_;
  ReferenceOptions options_;
  Workers workers_;
  AxisId next_axis_ = 0;
  int64_t multiply_adds_ = 0;

  /// A summed node at given coordinates of its dimensions, whatever axes those are on.
  struct SummedKey {
    NodeId node;
    std::vector<int> axis_of_dim;  ///< numbered by first appearance
    std::vector<Coordinates> coordinates;
    bool operator==(const SummedKey& other) const;
    struct Hash {
      size_t operator()(const SummedKey& key) const;
    };
  };
  std::unordered_map<SummedKey, ValuesRef, SummedKey::Hash> summed_;
  int64_t summed_size_ = 0;
};

}  // namespace coda
