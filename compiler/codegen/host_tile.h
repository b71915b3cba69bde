// The function that does everything of one tile of a region: for each row, stores and the lifting of statistics, in
// loops over the digits of the column coordinate.
#pragma once

#include "compiler/codegen/host_function.h"

namespace coda {

class HostTile : public HostFunction {
 public:
  HostTile(HostModule& module, const std::string& name, int region);
  /// Emits the body; `finish` tells whether it worked.
  void emit();

  Val accumulator(const Coord& row, const Coord& column, Val predicate) override;
  bool is_whole(const Statistic&) override { return false; }

 private:
  /// Stores and statistics that walk the columns in the same way, and so share one loop nest.
  struct Part {
    const Statistic* statistic;
    int statistic_index, part_index;
    NodeId body;
    const ColumnSpace* columns;
    std::unique_ptr<HostState> state;  ///< of a row's or the tile's elements; columns keep theirs in the workspace
  };
  struct Group {
    std::vector<const Store*> stores;
    std::vector<Part> parts;
    const ColumnSpace* columns = nullptr;
  };
  void make_groups();
  void order_groups();
  void reset_column_parts();
  void reset(StatScope scope, Scope* at);
  void save(StatScope scope, Scope* at);

  void emit_group(Group& group, Scope* row_scope, const Env& row_env);
  /// The innermost work, at known digits.
  void emit_element(Group& group, const std::vector<Coord>& digits, const Env& row_env, Scope* scope, unsigned lanes);
  void lift_column(Part& part, const Coord& column, const LiftedValue& x, Scope* scope, unsigned lanes);
  /// Where the running state of a column is, word by word.
  std::vector<ArrayAxis> column_axes(const Reduction& reduction, int word, const Coord& column);
  /// The range of the outermost digit that lies in the tile: its base coordinate and the counter's bounds.
  struct Outermost {
    Coord base;
    llvm::Value *begin, *end;
    int64_t most;
  };
  Outermost outermost(const ColumnSpace& columns);
  std::vector<int64_t> cuts(const Group& group, size_t digit) const;

  const EpilogueProgram& epilogue_;
  int region_;
  int64_t width_;
  Coord row_, row_start_, row_tile_, column_start_;
  std::vector<Group> groups_;
};

}  // namespace coda
