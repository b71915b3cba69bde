// The persistent walk over output tiles: which rows, region and columns tile number t is, and, where their depth is
// split, which part of it: a tile's parts follow each other. Columns of tiles are counted
// region by region; groups of row panels are walked before the next column, so that neighbours share operands in L2.
#pragma once

#include <vector>

#include "compiler/codegen/nvptx_builder.h"
#include "compiler/codegen/sm90_arguments.h"
#include "compiler/codegen/sm90_layout.h"

namespace coda {

struct Sm90Tile {
  Val row;               ///< I32, first row of this CTA's tile
  Val row_end;           ///< I32, behind the last row of its batch (of all, if there is none)
  Val batch;             ///< I32, which product of a batch
  Val row_in_batch;      ///< I32, first row, counted in its batch
  Val panel;             ///< I32, number of the CTA's rows over all batches; of those that reach beyond M too
  Val region;            ///< I32
  Val column;            ///< I32, first column in the region's coordinate
  Val column_index;      ///< I32, number of the tile's column over all regions
  Val column_in_region;  ///< I32, number of the tile's column in its region
  Val number;            ///< I32, of this CTA's tile among all
  Val part;              ///< I32, which part of the depth
  Val first_block;       ///< I32, k-block the part begins with
  Val blocks;            ///< I32, k-blocks of the part, at least 1
};

class Sm90Tiles {
 public:
  Sm90Tiles(NvptxBuilder& builder, Sm90Arguments& arguments, const Sm90Plan& plan, const EpilogueProgram& epilogue)
      : b_(builder), arguments_(arguments), plan_(plan), epilogue_(epilogue) {}

  /// Emits what does not depend on the tile; before either role starts.
  void prepare(const Dim& rows, Val depth_blocks);
  Val first() const { return first_; }
  Val step() const { return step_; }
  Val total() const { return total_; }      ///< parts of tiles, of a cluster
  Val parts() const { return parts_; }      ///< of each tile, at least 1 and at most the schedule's split
  Val rank() const { return rank_; }        ///< of this CTA in its cluster
  Val columns() const { return columns_; }  ///< tiles across all regions
  Val region_columns(int region) const { return counts_[static_cast<size_t>(region)]; }
  Val row_panels() const { return row_panels_; }  ///< CTA tiles along M, whole clusters, over all batches
  Sm90Tile at(Val number);

 private:
  NvptxBuilder& b_;
  Sm90Arguments& arguments_;
  const Sm90Plan& plan_;
  const EpilogueProgram& epilogue_;
  Val first_, step_, total_, rank_, columns_, panels_, row_panels_, depth_blocks_, parts_;
  Val batch_rows_, batch_panels_;  ///< of one batch
  std::vector<Val> counts_;
};

}  // namespace coda
