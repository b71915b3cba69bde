// Evaluates nodes of a tensor-IR graph at coordinates, on demand and once for each distinct coordinate, emitting code
// through an Emitter. What differs between targets (where accumulators live, how memory is read, how lanes combine) is
// behind EvalHooks. LLVM-free; shared by the host and the GPU generators.
//
// Two ways of use, which may be mixed:
//  - static slots (GPU): evaluate the same node at C0 + k + m*q for every slot k of the fragment; each call yields the
//  SSA
//    value of that slot, and what does not depend on the slot (row scale, statistics) is emitted once;
//  - loops (host): evaluate once at coordinates made of loop variables. Give every loop instance fresh variables, then
//    nothing remembered from a closed loop is found again. The emitter decides where an instruction is placed.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/codegen/coordinate.h"
#include "compiler/epilogue/epilogue.h"
#include "compiler/ops/emitter.h"

namespace coda {

/// What a target supplies. A null predicate means: unconditionally. Where a predicate is false the result is not used,
/// but nothing may fault.
class EvalHooks {
 public:
  virtual ~EvalHooks() = default;
  /// The value of a variable the generator made (Int). Variables made by the evaluator are not asked for.
  virtual Val variable(VarId variable) = 0;
  /// The value of an expression of the problem's extents (Int).
  virtual Val extent(const Dim& value) = 0;
  /// A scalar parameter, in its number class.
  virtual Val scalar(int param) = 0;
  /// An element of a parameter, in its number class (Real as f32, Int as i64, Bool as i1).
  virtual Val load(int param, std::span<const Coord> index, Val predicate) = 0;
  /// The accumulator at the row the generator evaluates (see EpilogueEvaluator::bind_rows) and a column of the GEMM.
  virtual Val accumulator(const Coord& row, const Coord& column, Val predicate) = 0;
  /// The reduction of `body` over `over` inside the tile, finished. `body` gives the Real values to lift (the product
  /// of a Contract's factors) under an environment that extends `env` by coordinates of `over`.
  struct TileReduction {
    NodeId node;
    const Reduction* reduction;
    std::span<const NamedDim> over;
    const Env* env;  ///< the coordinates of the node's own dimensions
    /// Under a predicate: the reduction's, or of a target whose threads share the elements, where any of them needs it.
    std::function<LiftedValue(const Env&, Val predicate)> body;
    Val predicate;
  };
  virtual Val reduce_in_tile(const TileReduction& request) = 0;
  /// Whether the statistic is whole by now. In a tile it is not: what a tile uses of the same name it reduces itself.
  virtual bool is_whole(const Statistic&) { return true; }
  /// A finished statistic (finish stage only).
  virtual Val statistic(const Statistic& statistic, const Env& env, Val predicate) = 0;
};

class EpilogueEvaluator {
 public:
  EpilogueEvaluator(const EpilogueProgram& epilogue, CoordSpace& space, Emitter& emitter, EvalHooks& hooks);

  /// Sets the row dimensions of `env` for row number `row`. With several row dimensions the digits are computed values
  /// (or affine where facts allow).
  void bind_rows(const Coord& row, Env& env);
  /// The row number of an environment that has all row dimensions.
  Coord row_of(const Env& env);
  /// The same of the rows that statistics keep; the number is 0 if they keep none.
  void bind_group(const Coord& group, Env& env);
  Coord group_of(const Env& env);
  /// Sets the column dimensions of `env` for column `column` of a region. Yes: set. No: the coordinate is skipped.
  /// Unknown: set, and `predicate` says (together with what it was) when the coordinate has such digits.
  Answer bind_columns(const ColumnSpace& columns, const Coord& column, Env& env, Val& predicate);

  /// The node's value in its own number class; needs a coordinate for each of its dimensions.
  Val evaluate(NodeId node, const Env& env, Val predicate = {});
  /// The same as f32.
  Val evaluate_real(NodeId node, const Env& env, Val predicate = {});
  /// What a reduction of `body` lifts, as f32: one value, or the parts of a pack.
  LiftedValue evaluate_lifted(NodeId body, const Env& env, Val predicate = {});
  /// `value` of class `from`, converted to class `to` (elementwise conversion as the language defines it).
  Val convert(Val value, NumClass from, NumClass to);
  /// The same, then rounded or saturated to what `dtype` can hold: the value as it reads back from a stored element.
  Val to_dtype(Val value, NumClass from, DType dtype);

  /// The coordinate a map gives; what is not affine becomes a fresh variable bound to a computed value.
  Coord apply(const AffineMap& map, const Env& env);
  /// A coordinate as an Int value. Terms of the same variables share code through the emitter's folding.
  Val value_of(const Coord& coordinate);
  /// A fresh variable that stands for a computed value.
  Coord bind(Val value, VarFacts facts = {});
  /// floor(coordinate / divisor) and the rest, computed where they are not affine.
  std::pair<Coord, Coord> divide(const Coord& coordinate, const Dim& divisor);
  /// low <= coordinate < low + length as a Bool value joined to `predicate` (which may be null).
  Val within(const Coord& coordinate, const Dim& low, const Dim& length, Val predicate);

  CoordSpace& space() { return space_; }
  Emitter& emitter() { return emitter_; }
  /// The first thing that could not be generated, empty if none. Values returned after a failure mean nothing.
  const std::string& failure() const { return failure_; }
  void fail(std::string reason);

 private:
  void bind_rows(const std::vector<NamedDim>& dims, const Coord& row, Env& env);
  Coord row_of(const std::vector<NamedDim>& dims, const Env& env);
  struct Key {
    NodeId node;
    void* predicate;
    std::vector<int> coordinates;  // interned, one for each of the node's dimensions
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const;
  };

  struct Digit {
    Dim extent, stride;
  };
  /// Digits of `coordinate`, outermost first; anything left over must be 0. See bind_columns for the answer.
  Answer digits(const Coord& coordinate, std::span<const Digit> wanted, std::vector<Coord>& out, Val& predicate);
  Answer demand_inside(const Coord& coordinate, const Dim& length, Val& predicate);
  int intern(const Coord& coordinate);

  Val compute(NodeId id, const Env& env, Val predicate);
  Val compute_input(const Node& node, const Env& env, Val predicate);
  Val compute_product(const Node& node, const Env& env, Val predicate);
  /// Factors in an order in which those of few dimensions, a row's say, are multiplied apart: what they make is the
  /// same for many elements.
  std::vector<std::vector<NodeId>> factor_groups(const Node& node) const;
  Val compute_sum(const Node& node, const Env& env, Val predicate);
  Val compute_apply(const Node& node, const Env& env, Val predicate);
  Val compute_put(const Node& node, const Env& env, Val predicate);
  Val compute_gather(const Node& node, const Env& env, Val predicate);
  Val compute_reduction(NodeId id, const Env& env, Val predicate);
  Val zero(NumClass num_class);
  Val both(Val a, Val b);

  const EpilogueProgram& epilogue_;
  const Graph& graph_;
  CoordSpace& space_;
  Emitter& emitter_;
  EvalHooks& hooks_;
  std::unordered_map<NodeId, const Statistic*> statistics_;
  std::unordered_map<Coord, int, CoordHash> interned_;
  std::unordered_map<Key, Val, KeyHash> memo_;
  std::unordered_map<Key, std::pair<Coord, Coord>, KeyHash> divided_;
  std::unordered_map<int, Val> values_;   // of interned coordinates
  std::unordered_map<VarId, Val> bound_;  // variables made here
  struct BoundRow {
    std::vector<Coord> digits;
    Coord row;
  };
  std::vector<BoundRow> rows_;
  std::string failure_;
};

}  // namespace coda
