// The finish stage: combines the tiles' partial states in a fixed order, whatever thread made them, and stores what
// depends on finished statistics.
#pragma once

#include "compiler/codegen/host_function.h"

namespace coda {

class HostFinish : public HostFunction {
 public:
  HostFinish(HostModule& module, const std::string& name, const std::vector<bool>& arguments);

  /// The stores of row statistics, for rows argument(0) to argument(1).
  void emit_rows();
  /// Combines column statistics; then their stores, and those of statistics of everything.
  void emit_rest();

  Val statistic(const Statistic& statistic, const Env& env, Val predicate) override;

 private:
  std::vector<const FinishStore*> stores_of(StatScope scope) const;
  /// One group of the rows that statistics keep: its number, and an environment with their coordinates.
  struct Group {
    Coord number;
    Env env;
    Scope* scope;
  };
  void emit_rest(const Group& group);
  void for_each_group(const std::function<void(const Group&)>& body);
  void emit_columns(const Group& group, const Statistic& statistic, const Statistic::Part& part, llvm::Value* buffer);
  /// A dimension that a store visits: offset + [0, extent).
  struct Walk {
    std::string dim;
    Dim extent, offset;
  };
  /// Loops over `walks` (the last one in lanes) and stores at each place.
  void emit_store(const FinishStore& store, std::span<const Walk> walks, Scope* in, const Env& env);
  void store_all(const std::vector<const FinishStore*>& stores, const Env& env, Scope* scope);

  /// Combines `tiles` states found at `axes(tile, word)`.
  using StateAxes = std::function<std::vector<ArrayAxis>(const Coord& tile, int word)>;
  void combine_tiles(HostState& state, const Reduction& reduction, Scope* in, unsigned lanes, llvm::Value* buffer,
                     llvm::Value* tiles, const StateAxes& axes);
  Val tiles_of_group();
  Coord first_tile(const Coord& group);
  StateWords row_total(const Statistic& statistic, int index, const Coord& row);
  StateWords column_total(const Statistic& statistic, int index, const Env& env, Val predicate);
  StateWords whole_total(const Statistic& statistic, int index, const Env& env);

  const EpilogueProgram& epilogue_;
};

}  // namespace coda
