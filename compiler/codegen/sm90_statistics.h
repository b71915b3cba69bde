// Partial states of statistics: lifted from the values of a tile in registers, combined in the quad (rows), the
// warpgroup (columns) or both, and written to the workspaces. Who finishes them is sm90_finish.h's business.
#pragma once

#include <optional>
#include <vector>

#include "compiler/codegen/epilogue_eval.h"
#include "compiler/codegen/sm90_region.h"
#include "compiler/codegen/sm90_single_term.h"
#include "compiler/codegen/sm90_stat_layout.h"

namespace coda {

class Sm90Statistics {
 public:
  Sm90Statistics(Sm90Region& region, const Sm90StatLayout& layout, Val scratch);

  /// Before the first slice: terms that few tiles have.
  void single_terms(std::span<const Val> accumulators);
  /// Lifts the elements of one slice: the columns of the group at `column`, row slot h.
  void slice(EpilogueEvaluator& evaluator, const Env& rows, int column, int h);
  /// After the last row slot of a group: its column states leave the registers.
  void end_group(int column);
  /// After the last slice.
  void flush();

 private:
  struct State {
    Val word[kMaxStateWords];
  };
  struct Active {
    const Statistic* statistic;
    const Statistic::Part* part;
    int buffer;                ///< workspace
    int scratch;               ///< bytes into the exchange area
    std::vector<State> rows;   ///< Row: of each row slot
    std::vector<State> slots;  ///< Column: of each slot of the group
    State all;
    std::optional<Sm90SingleTerm> single;  ///< it replaces the state
  };

  State identity(const Reduction& reduction);
  void lift(const Reduction& reduction, const LiftedValue& x, Val predicate, State& state);
  void write_single(const Active& active, std::span<const Val> wanted, std::span<const Val> accumulators);
  void write_row(const Active& active);
  void write_columns(const Active& active);
  void write_all(const Active& active);
  Val scratch_at(const Active& active, Val warp, Val column, int word);

  Sm90Region& r_;
  NvptxBuilder& b_;
  Emitter& e_;
  Val scratch_;  ///< I32, shared address of this consumer's exchange area
  std::vector<Active> active_;
};

/// The number of this consumer's panel of rows: I32.
Val sm90_panel(Sm90Context& context, const Sm90Tile& tile);
/// Whether the panel's states are written (I1), and how many panels' of one group of kept rows are (I32): those that
/// begin inside the rows; in a batch all, as the last ones of each product are not the last of all.
Val sm90_panel_counts(Sm90Context& context, const Sm90Tile& tile);
Val sm90_panel_count(Sm90Context& context);

}  // namespace coda
