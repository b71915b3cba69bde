// Statistics over all rows: each group of threads keeps the states of the rows it does, in registers for the unrolled
// columns and in its workspace for those beyond; the last CTA combines the groups' states in their order and stores
// what is made of them. So every run on one device gives the same bits.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "compiler/codegen/sm90_rowwise_frame.h"

namespace coda {

class Sm90RowTotals {
 public:
  /// Adds the workspaces to the image.
  Sm90RowTotals(Sm90RowContext& context, KernelImage& image);
  bool any() const { return !totals_.empty(); }
  /// Is something of the region reduced over all rows?
  bool use(int region) const;
  /// The places in the carried list of what is one state for all columns of the region.
  std::vector<size_t> single_states(int region) const;

  /// `group`: number of the group of threads in the grid; `lane`: of the thread in it; I32. Also makes the states that
  /// lie in the workspace. Returns the states in registers: carried through the loop over rows.
  std::vector<Val> begin(Val group, Val lane);
  /// Lifts the elements of `region` at the slots of a chunk. `column`: the first one (I64) of a chunk beyond the
  /// unrolled ones; else null.
  void lift(Sm90RowFrame& frame, int region, int first_slot, std::span<Val> states, Val column);
  /// Writes the states; `combine` combines a state over the threads of a row.
  void end(std::span<Val> states, const std::function<void(const Statistic&, Val*)>& combine);
  /// The finish stage, by the CTAs that arrive last. `arrival`: I32, shared address of 4 bytes.
  void finish(Val thread, Val cta, Val ctas, Val arrival);

 private:
  struct Total {
    const Statistic* statistic;
    int index;
    int workspace;
    size_t first_state = 0;  ///< in the carried list
    int region() const { return statistic->parts[0].region; }
    bool of_columns() const { return statistic->scope == StatScope::Column; }
    int words() const { return statistic->reduction->state_size; }
  };
  /// Groups of threads whose states are combined: `first`, first + step, ... below `end`; I32.
  struct Groups {
    Val first, end;
    int step;
  };
  Val address(const Total& total, Val group, int word, Val column);
  /// Their states together, in order.
  std::vector<Val> combined(const Total& total, const Groups& groups, Val column);
  Val finished(const Total& total, const Groups& groups, Val column);
  /// Counts this CTA in; `last` where it is the last of `expected`. The counter is set back.
  void arrive(Val thread, Val counter, Val expected, Val arrival, const std::function<void()>& last);
  void fold(Val thread, const Groups& groups);
  void finish_columns(Val thread, const Groups& groups);
  void finish_all(Val thread, const Groups& groups);
  size_t state_of(const Total& total, int chunk, int k, int word) const;

  Sm90RowContext& c_;
  NvptxBuilder& b_;
  std::vector<Total> totals_;
  int counters_ = -1;  ///< workspace: of all sets, then of each set
  size_t states_ = 0;
  Val group_, lane_;
};

}  // namespace coda
