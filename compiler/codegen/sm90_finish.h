// The finish stage inside the launch: counts consumers in as they write partial states; the last one of a panel of
// rows, of a column tile, or of all, combines the states in their fixed order and stores what is made of them. So every
// run of a kernel gives the same bits, whoever comes last.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "compiler/codegen/epilogue_eval.h"
#include "compiler/codegen/nvptx_numbers.h"
#include "compiler/codegen/sm90_context.h"
#include "compiler/codegen/sm90_single_term.h"
#include "compiler/codegen/sm90_stat_layout.h"

namespace coda {

class Sm90Finish {
 public:
  Sm90Finish(Sm90Context& context, NvptxNumbers& numbers, const Sm90StatLayout& layout, Val scratch)
      : c_(context), b_(context.b), numbers_(numbers), layout_(layout), scratch_(scratch) {}

  /// After a consumer's partial states of `tile` are written.
  void emit(const Sm90Tile& tile);
  /// Where the product has no rows or no columns, and so no tile: statistics of nothing, by the grid's first consumer.
  void emit_nothing();
  const std::string& failure() const { return failure_; }

 private:
  using Totals = std::map<const Statistic*, Val>;
  class Hooks;

  bool has_any() const;
  /// What the reductions of a scope (Column: and of a region) give for no elements.
  Totals totals_of_nothing(StatScope scope, int region);
  /// What the thread that had the wanted column left for the row, or 0 where there is no such column.
  Val single_term(const Statistic& statistic, const Sm90SingleTerm& term, int buffer, Val row, Val inside);
  void store_row(Val row, Val inside, const Totals& totals);
  /// Of a group of kept rows.
  void store_column(int region, Val group, Val column, Val inside, const Totals& totals);
  void store_all(Val group, Val inside, const Totals& totals);
  void bind_group(Val group, Hooks& hooks, CoordSpace& space, EpilogueEvaluator& evaluator, Env& env);
  void finish_rows(const Sm90Tile& tile);
  void finish_columns(const Sm90Tile& tile);
  void finish_all(const Sm90Tile& tile);
  /// The finished statistics of a scope; `address(part, number, word)` is where partial state `number` lies.
  Val total(const Statistic& statistic, const std::function<Val(size_t part)>& count,
            const std::function<Val(size_t part, Val number, int word)>& address, Val predicate, int stride, Val first,
            const std::function<void(Val* state)>& gather);
  void store(const FinishStore& store, EpilogueEvaluator& evaluator, Env env, std::vector<NamedDim> walks,
             Val predicate);
  void fail(const std::string& reason);

  Sm90Context& c_;
  NvptxBuilder& b_;
  NvptxNumbers& numbers_;
  const Sm90StatLayout& layout_;
  Val scratch_;  ///< I32, shared address of this consumer's scratch
  std::string failure_;
};

}  // namespace coda
