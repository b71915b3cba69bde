// What the code of one region of one tile shares: the fragment's coordinates and their run-time values, the number
// emitter, and where loads may be placed ahead of their use.
#pragma once

#include <string>
#include <vector>

#include "compiler/codegen/epilogue_eval.h"
#include "compiler/codegen/nvptx_numbers.h"
#include "compiler/codegen/sm90_context.h"
#include "compiler/codegen/sm90_fragment.h"

namespace coda {

struct Sm90Region {
  /// `whole`: all of the tile lies inside the tensors, and every condition that is assumed holds.
  Sm90Region(Sm90Context& context, NvptxNumbers& numbers, int index, const Sm90Tile& tile, bool whole);

  Sm90Context& context;
  NvptxNumbers& numbers;
  const int index;
  const Region& region;
  const Sm90RegionPlan& plan;
  const Sm90Tile& tile;
  const bool whole;
  Sm90Fragment fragment;

  Val quad;                     ///< I32, lane % 4
  Val first_row;                ///< I32, of row slot 0
  std::vector<Val> row;         ///< I64, of each row slot, clamped into the tensor so that loads need no predicate
  std::vector<Val> row_inside;  ///< I1
  Val remaining;                ///< I32, signed: column slot k is in the region where remaining > k
  Val tile_value, quad_low_value, quad_high_value;  ///< I64

  int slice = 0;                            ///< the (column group, row slot) that is emitted now
  int slot = 0;                             ///< the column slot that is evaluated now
  std::vector<NvptxBuilder::Place> places;  ///< start of each slice so far; the first lies before the last wait

  bool rare = false;  ///< in code that few tiles run: nothing is read ahead of it

  uint64_t assumed = 0;  ///< bits of conditions that a whole tile relies on

  std::string failure;  ///< what could not be generated
  void fail(const std::string& reason);

  Val variable(VarId variable) const;
  /// A coordinate of the fragment's own variables, computed where the builder stands.
  Val early_value(const Coord& coordinate) const;
  /// remaining > k
  Val column_inside(int k) const;
  /// Whether an access that `condition` allows may be wide: null where that is assumed.
  Val wide(const ConditionSpec& condition);
  /// Where column slot k may be touched, of those where `predicate` (null: everywhere) holds; null: everywhere.
  Val guard(int k, Val predicate) const;
  /// The same for row slot h.
  Val guard_row(int h, Val predicate) const;
};

}  // namespace coda
