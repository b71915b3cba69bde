// One place in the kernel where columns of a row are at hand: the coordinates of this thread's columns, loads and
// stores of neighbours at once, and an evaluator whose values live as long as the frame does. Code in a loop has a
// frame of its own; the unrolled part of a row is one frame from its first statistic to its stores.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/codegen/epilogue_eval.h"
#include "compiler/codegen/nvptx_numbers.h"
#include "compiler/codegen/nvptx_ops.h"
#include "compiler/codegen/sm90_arguments.h"
#include "compiler/codegen/sm90_rowwise_plan.h"

namespace coda {

/// What a version of the kernel may take for granted.
struct Sm90WholeRows {
  /// Of each region: every row has at least so many, in whole vectors, and none beyond the unrolled ones.
  std::vector<int64_t> columns;
  uint64_t conditions = 0;  ///< that hold: found while the version is emitted
};

/// What all frames of a kernel work with.
struct Sm90RowContext {
  NvptxBuilder& b;
  Sm90Arguments& arguments;
  NvptxNumbers& numbers;
  const EpilogueProgram& epilogue;
  const Sm90RowPlan& plan;
  std::string failure;
  Sm90WholeRows* whole = nullptr;  ///< of the version that is being emitted, if it is one of whole rows
  /// Before the loop over rows: what is read there is kept in registers, of which so many words are taken.
  std::optional<NvptxBuilder::Place> before_rows;
  int kept_words = 0, carried_words = 0;

  void fail(const std::string& reason) {
    if (failure.empty()) failure = reason;
  }
};

/// A row of the CTA's group of threads.
struct Sm90Row {
  std::vector<std::pair<NamedDim, Val>> digits;  ///< I64
  Val inside;                                    ///< I1: is there such a row?
};

/// The rows of a group of threads one after the other: the first one, known before the loop, and that after this one.
struct Sm90RowTurns {
  Sm90Row first, next;
};

class Sm90RowFrame final : public EvalHooks {
 public:
  /// `statistics`: finished ones, by number; asked for when a value needs one. `unrolled`: slots count from a row's
  /// first chunk. With `turns`, what a row needs is read a turn before.
  Sm90RowFrame(Sm90RowContext& context, const Sm90Row& row, const std::vector<Val>& statistics, bool unrolled,
               const Sm90RowTurns* turns = nullptr);
  ~Sm90RowFrame() override;

  /// The columns of a region: slot s is column `first` + s (I64, a multiple of the vector).
  void open_region(int region, Val first);
  /// The one column `column` (I64) of a region, at slot 0.
  void open_single(int region, Val column);
  /// Loads that are asked for from now on go before what is emitted from now on, where they can.
  void open_loads();
  /// A chunk begins: what it reads goes here.
  void advance_loads();
  void close_loads();

  /// Coordinates of `columns` at slot `slot` of its region.
  Env at(int region, const ColumnSpace& columns, int slot);
  Env row_env() const { return rows_; }
  /// Is the slot a column of the row? Null: known to be.
  Val inside(int region, int slot);
  /// The same, where the row may not exist either; never null.
  Val row_inside(int region, int slot);
  EpilogueEvaluator& evaluator() { return *evaluator_; }
  /// Evaluates at a slot: loads are guarded by its being inside.
  Val evaluate(int region, int slot, NodeId node, const Env& env);
  Val evaluate_real(int region, int slot, NodeId node, const Env& env);
  LiftedValue evaluate_lifted(int region, int slot, NodeId body, const Env& env);

  struct Element {
    std::vector<Coord> index;
    Val value;  ///< as the parameter's type has it, not yet rounded
    int slot;
  };
  /// Stores one element a slot, ascending.
  void store(int region, int param, std::span<const Element> elements);
  /// One element where `predicate` holds.
  void store_one(int param, const std::vector<AffineMap>& index, const Env& env, Val value, NumClass num_class,
                 Val predicate);
  Element element(const Store& store, const Env& env, Val value, int slot);

  Val variable(VarId variable) override;
  Val extent(const Dim& value) override { return c_.arguments.extent(value); }
  Val scalar(int param) override;
  Val load(int param, std::span<const Coord> index, Val predicate) override;
  Val accumulator(const Coord& row, const Coord& column, Val predicate) override;
  Val reduce_in_tile(const TileReduction& request) override;
  Val statistic(const Statistic& statistic, const Env& env, Val predicate) override;

 private:
  struct RegionColumns {
    VarId column;
    Val first;      ///< I64
    Val left;       ///< I32, signed: slots below it are columns
    Val remaining;  ///< the same, and none where the row does not exist
    bool single = false;
    std::map<int, std::vector<Coord>> digits;  ///< by slot, where there are several
  };
  /// A variable whose neighbours are this thread's slots: its value is that of slot `slot`.
  struct Lane {
    int region, slot;
  };
  /// Elements side by side in memory that this thread's slots use: `count` from `first`.
  struct Unit {
    std::vector<Coord> start;  ///< index of the first
    std::vector<int> slots;    ///< of each, to be guarded by
    int place = 0;             ///< of the element asked for
  };
  /// Where a unit is accessed: coordinates, and the threads whose row and columns exist.
  struct Whereabouts {
    std::function<Val(const Coord&)> value;
    Val remaining, row_inside;
  };
  std::optional<Unit> unit_at(std::span<const Coord> index, int bytes, int most);
  gpu::Unit access(int param, const Unit& unit, const ConditionSpec& condition, const Whereabouts& at);
  std::vector<Val> read_unit(int param, const Unit& unit, const ConditionSpec& condition, bool early);
  /// Is it the same for all rows? Is it this row's alone?
  bool of_columns_alone(std::span<const Coord> index) const;
  bool of_this_row(int param, std::span<const Coord> index) const;
  bool covered(int region, int slot) const;
  /// Is the slot a column of an existing row; not null.
  Val column_guard(int region, int slot, Val remaining, Val row_inside) const;
  std::optional<ConditionSpec> wide_condition(int param, const Unit& unit) const;
  const std::vector<Coord>& digits_at(int region, const ColumnSpace& columns, int slot);
  Val address(int param, std::span<const Coord> index, const std::function<Val(const Coord&)>& value);
  Val value_of(const Coord& coordinate, const std::map<VarId, Val>& variables);
  Val early_value(const Coord& coordinate);
  bool known_early(std::span<const Coord> index) const;
  /// Where an element at `index` may be touched.
  Val guard(int param, std::span<const Coord> index, Val predicate);
  void reduce(const TileReduction& request, const Env& env, size_t axis, Val* state);
  void reduce_in_loops(const TileReduction& request, const Env& env, size_t axis, Val* state);

  Sm90RowContext& c_;
  const Sm90Row& row_;
  const std::vector<Val>& statistics_;
  const bool unrolled_;
  const Sm90RowTurns* const turns_;
  CoordSpace space_;
  Env rows_;
  std::map<VarId, Val> variables_;
  std::map<VarId, Lane> lanes_;
  std::map<int, RegionColumns> regions_;
  std::unordered_map<ElementKey, std::vector<Val>, ElementKeyHash> units_;  ///< words that were read, by their start
  std::unordered_map<Coord, Val, CoordHash> early_values_;
  std::set<VarId> early_variables_;  ///< computed where loads go early
  std::optional<NvptxBuilder::Place> early_;
  std::vector<NvptxBuilder::Place> places_;  ///< of loads, in order; early_ is the last
  int region_ = -1, slot_ = 0;
  std::unique_ptr<EpilogueEvaluator> evaluator_;
};

/// state = combined with the state of the lanes whose number differs by each of the masks below `lanes`.
void combine_row_lanes(Sm90RowContext& context, const Reduction& reduction, int lanes, Val* state);

}  // namespace coda
