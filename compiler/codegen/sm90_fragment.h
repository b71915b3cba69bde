// The coordinates of a thread's accumulators within one region: variables for the tile's first column, the quad's two
// bits and each row, and the ways between coordinates and accumulators. Shared by the code generator and by the probe
// that finds out which order of columns a program can live with. LLVM-free.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler/codegen/coordinate.h"
#include "compiler/codegen/sm90_layout.h"

namespace coda {

class Sm90Fragment {
 public:
  /// `rows` is M. With several row dimensions a row's digits are computed values.
  Sm90Fragment(const Region& region, const Sm90RegionPlan& plan, int row_slots, const Dim& rows);

  CoordSpace& space() { return space_; }
  const Sm90RegionPlan& plan() const { return plan_; }
  Coord row(int h) const { return Coord::variable(rows_[static_cast<size_t>(h)]); }
  /// Column slot k (k % group < width) of the region's coordinate.
  Coord column(int k) const { return base_ + Coord(k); }

  /// Where the digits of `columns` make up the whole region, every column has its outermost digit.
  void assume_digits(const ColumnSpace& columns);
  /// The same for all that the region of this number stores and reduces.
  void assume_digits(const EpilogueProgram& epilogue, int region);

  std::optional<int> row_slot(const Coord& row) const;
  struct Place {
    int segment, slot;
  };
  /// Which accumulator column `column` of the GEMM is, if this thread owns it.
  std::optional<Place> find(const Coord& column) const;

  /// Whether one tile holds the whole region: then it begins at column 0.
  bool is_one_tile() const;

  VarId tile_variable() const { return tile_; }
  VarId quad_low() const { return quad_low_; }
  VarId quad_high() const { return quad_high_; }
  bool is_row(VarId variable) const { return row_slot(Coord::variable(variable)).has_value(); }
  /// Whether `coordinate` is made of this fragment's variables only, so that it is known from the tile's start.
  bool is_known_early(const Coord& coordinate) const;
  bool depends_on_column(const Coord& coordinate) const;

  /// How a reduction over `extent` neighbours, `step` columns from one to the next, is shared by the quad: this
  /// thread's coordinates, and which quad bits hold other threads' shares. Nothing if they don't divide evenly, unless
  /// they are the whole region in one tile: then `ragged` says from which of `own` on a thread may be beyond the last
  /// column, and own[i] is column slot slots[i].
  struct Share {
    std::vector<Coord> own;
    std::vector<int> slots;
    size_t ragged = SIZE_MAX;
    std::vector<int> shuffles;
  };
  std::optional<Share> share(int64_t extent, int64_t step = 1) const;

 private:
  const Region& region_;
  const Sm90RegionPlan& plan_;
  CoordSpace space_;
  VarId tile_, quad_low_, quad_high_;
  std::vector<VarId> rows_;
  Coord base_;  // of column slot 0
};

/// Largest power of two (up to 16) that divides the coordinate's constant and variable part whatever the variables are.
int64_t known_multiple(const CoordSpace& space, const Coord& coordinate);

}  // namespace coda
