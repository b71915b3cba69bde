// Tensor IR: one hash-consed graph of values that carry a *set* of named dimensions. Contractions are n-ary
// (sum over `over` of the product of factors), sums are linear combinations, elementwise functions are opaque, and
// index maps are affine. The graph as built by the front end is the source semantics; laws make new nodes beside it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/ops/op.h"
#include "dsl/source.h"
#include "runtime/format/dim.h"
#include "runtime/format/dtype.h"
#include "runtime/format/param_layout.h"

namespace coda {

using NodeId = int32_t;
inline constexpr NodeId kNoNode = -1;

/// A named dimension: its identity is `name`. The front end names a dimension by its extent's canonical text unless
/// the program renames it (`M as M2`, `G = 32`). Two dimensions of one name have one extent.
struct NamedDim {
  std::string name;
  Dim extent;
  bool operator==(const NamedDim& other) const { return name == other.name; }
  bool operator<(const NamedDim& other) const { return name < other.name; }
};

/// offset + sum of stride * dimension, over named dimensions; integer-valued polynomials.
struct AffineMap {
  struct Term {
    NamedDim dim;
    Dim stride;
    bool operator==(const Term&) const = default;
  };
  Dim offset;
  std::vector<Term> terms;  // sorted by dimension name
  bool operator==(const AffineMap&) const = default;
};

enum class NodeKind : uint8_t {
  Input,     ///< parameter `param`
  Constant,  ///< `value`
  Index,     ///< the coordinate along `dim`, an Int
  Extent,    ///< the value of `map.offset`, a scalar Int (mean divides by one)
  Contract,  ///< E: sum over `over` of the product of `args`; over empty = product; one arg = reduction by sum
  Sum,       ///< S: sum of coefficients[i] * args[i]
  Apply,     ///< F: op applied elementwise to args, broadcast by name
  View,      ///< V: args[0] with dimension `dim` replaced through `map`
  Put,       ///< P: args[0] placed at `map` (in dimensions of args[0]) along `dim`, zero elsewhere
  Reduce,    ///< monoid `reduction` of args[0] over `over` (every reduction that is not a plain sum)
  Gather,    ///< args[0] at index args[1] along `dim`; 0 where the index is outside
  Cast,      ///< a rigid rounding to `dtype`: no law crosses it
};

struct Node {
  NodeKind kind;
  std::vector<NodeId> args;
  std::vector<NamedDim> dims;  ///< of the result, sorted by name, no repetition
  NumClass num_class = NumClass::Real;

  int param = -1;                        ///< Input
  double value = 0;                      ///< Constant
  const Op* op = nullptr;                ///< Apply
  const Reduction* reduction = nullptr;  ///< Reduce
  std::vector<double> coefficients;      ///< Sum
  std::vector<NamedDim> over;            ///< Contract, Reduce; sorted
  NamedDim dim;                          ///< Index; View and Put: the replaced dimension; Gather: the indexed one
  AffineMap map;                         ///< View, Put
  DType dtype = DType::F32;              ///< Cast

  Span span;  ///< where the program first says it; not part of identity
  bool has_dim(const std::string& name) const;
};

/// Hash-consing arena: equal nodes have equal ids. Constructors check their arguments (an error there is a compiler
/// bug and aborts with a message) and compute `dims`. Ids never die. Not thread-safe while nodes are added.
class Graph {
 public:
  NodeId input(int param, std::vector<NamedDim> dims, NumClass num_class, Span span);
  NodeId constant(double value, NumClass num_class = NumClass::Real);
  NodeId index(NamedDim dim);
  NodeId extent(Dim value);
  NodeId contract(std::vector<NodeId> factors, std::vector<NamedDim> over, Span span = {});
  NodeId sum(std::vector<NodeId> terms, std::vector<double> coefficients, Span span = {});
  NodeId apply(const Op* op, std::vector<NodeId> args, Span span = {});
  NodeId view(NodeId x, NamedDim dim, AffineMap map, Span span = {});
  /// x along these dimensions too.
  NodeId broadcast(NodeId x, const std::vector<NamedDim>& dims, Span span = {});
  NodeId put(NodeId x, NamedDim dim, AffineMap map, Span span = {});
  NodeId reduce(const Reduction* reduction, NodeId x, std::vector<NamedDim> over, Span span = {});
  NodeId gather(NodeId x, NamedDim dim, NodeId index, Span span = {});
  NodeId cast(NodeId x, DType dtype, Span span = {});

  const Node& operator[](NodeId id) const { return nodes_[id]; }
  NodeId size() const { return static_cast<NodeId>(nodes_.size()); }

 private:
  NodeId intern(Node node);
  std::vector<Node> nodes_;
  std::unordered_multimap<size_t, NodeId> by_hash_;
};

/// A parameter or output of a program, in declared order of dimensions (row-major, last has unit stride unless the
/// tensor at launch says otherwise for the others).
struct Param {
  enum class Role : uint8_t { In, Out, InOut, Scalar };
  std::string name;
  Role role = Role::In;
  DType dtype = DType::F32;
  std::vector<NamedDim> dims;
  ParamLayout layout = ParamLayout::RowMajor;  ///< Out, of a kernel: how a matrix of bytes lies in memory
  std::optional<double> default_value;         ///< Scalar
  bool is_const = false;
  Span span;
};

/// A fact of a `where` clause: assumed by the compiler, checked at launch.
struct DimFact {
  Dim left, right;
  std::optional<Dim> modulus;
  std::string relation;
  Span span;
};

/// One kernel or block after elaboration.
struct Program {
  std::string name;
  bool is_block = false;
  std::vector<Param> params;  ///< inputs, inouts, scalars, then outputs
  std::vector<DimFact> facts;
  Bindings bound;  ///< symbols fixed by facts or by the compile request
  Graph graph;
  struct Output {
    int param;  ///< index into params, role Out or InOut
    NodeId value;
    Span span;  ///< where the program assigns it
  };
  std::vector<Output> outputs;
  std::vector<std::pair<std::string, double>> schedule;
  std::map<NodeId, std::string> value_names;  ///< what the text calls values; for printing, never for meaning
  std::string doc;
  Span span;
};

}  // namespace coda
