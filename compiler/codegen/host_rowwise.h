// The function that does rows of a kernel without a product: for each row its statistics in order, then its elements;
// states over all rows go to the workspace, where HostFinish finds them.
#pragma once

#include "compiler/codegen/host_function.h"

namespace coda {

/// Rows whose column states are folded before they are combined with others'; also the rows of one task.
inline constexpr int kHostSweepRows = 32;

class HostRowwise : public HostFunction {
 public:
  /// `void name(words, begin, end)`: rows [begin, end), begin a multiple of kHostSweepRows, end at most that much more.
  HostRowwise(HostModule& module, const std::string& name);
  void emit();

  Val statistic(const Statistic& statistic, const Env& env, Val predicate) override;

 private:
  /// What is done at an element: its coordinates, the region's column, the scope, the lanes.
  using ElementBody = std::function<void(const std::vector<Coord>& digits, Scope* scope, unsigned lanes)>;
  /// Visits the columns of a walk. Lanes run along the innermost digit that fills a vector.
  void walk(const ColumnSpace& columns, Scope* in, const ElementBody& body);
  Env with_digits(const Env& rows, const ColumnSpace& columns, const std::vector<Coord>& digits) const;

  Val row_statistic(const Statistic& statistic, const Env& rows, Scope* scope);
  void emit_region(int region, const Env& rows, Scope* scope);
  void emit_row_stores(const Env& rows, Scope* scope);

  // States over all rows.
  struct Total {
    const Statistic* statistic;
    int index;
    /// Scope All: of the rows so far, and of the row at hand, so that no long sum is one chain. Columns keep theirs in
    /// the workspace.
    std::unique_ptr<HostState> state, row;
  };
  void reset_totals();
  void save_totals();
  void lift_column(const Total& total, const std::vector<Coord>& digits, const LiftedValue& x, Scope* scope,
                   unsigned lanes);
  std::vector<ArrayAxis> column_axes(const Total& total, int word, const std::vector<Coord>& digits);
  llvm::Value* buffer(const Total& total);
  /// base + value * extent, affine where it can be.
  Coord scaled(const Coord& value, const Dim& extent);

  const EpilogueProgram& epilogue_;
  Coord first_row_;
  std::vector<Val> finished_;  ///< by statistic: scope Row
  std::vector<Total> totals_;
};

}  // namespace coda
