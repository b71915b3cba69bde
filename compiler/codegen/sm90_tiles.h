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
  Val group;             ///< I32, of the rows that statistics keep
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
  Val is_part;           ///< I1: the part is not all of the depth; null: as `parts` says, the same for all tiles
  Val tail;              ///< I32: which of the tiles that are cut for their last round, if it is one
};

class Sm90Tiles {
 public:
  Sm90Tiles(NvptxBuilder& builder, Sm90Arguments& arguments, const Sm90Plan& plan, const EpilogueProgram& epilogue)
      : b_(builder), arguments_(arguments), plan_(plan), epilogue_(epilogue) {}

  /// Emits what does not depend on the tile; before either role starts.
  void prepare(const Dim& rows, Val depth_blocks);
  Val first() const { return first_; }
  Val step() const { return step_; }
  Val total() const { return total_; }      ///< parts of tiles, of a cluster; numbers below it are this CTA's to walk
  Val parts() const { return parts_; }      ///< of each tile, at least 1 and at most the schedule's split
  Val rank() const { return rank_; }        ///< of this CTA in its cluster
  Val columns() const { return columns_; }  ///< tiles across all regions
  Val region_columns(int region) const { return counts_[static_cast<size_t>(region)]; }
  Val row_panels() const { return row_panels_; }      ///< CTA tiles along M, whole clusters, over all batches
  Val group_panels() const { return group_panels_; }  ///< those of one group of kept rows
  Sm90Tile at(Val number);

  /// Where the parts of a tile meet, if the depth is cut: how many there are, and numbers for its counter and, by part,
  /// its sums, among those of all CTAs.
  Val parts_of(const Sm90Tile& tile);
  Val counter_of(const Sm90Tile& tile);
  Val sums_of(const Sm90Tile& tile, Val part);
  Val own_sums(const Sm90Tile& tile);

 private:
  /// The k-blocks of the tiles of a last round, one tile after the other, are shared evenly: cluster c has those from
  /// c*all/clusters on. It meets two tiles at most.
  void cut_tail();
  void at_tail(Sm90Tile& tile, Val& number);
  Val tail_begin(Val cluster) { return b_.op(IntOp::Udiv, b_.mul(cluster, tail_blocks_), step_); }
  /// The cluster that has the k-block.
  Val tail_owner(Val block);
  Val of_rank(Val number) {
    return plan_.schedule.cluster > 1 ? b_.add(b_.mul(number, plan_.schedule.cluster), rank_) : number;
  }

  NvptxBuilder& b_;
  Sm90Arguments& arguments_;
  const Sm90Plan& plan_;
  const EpilogueProgram& epilogue_;
  Val first_, step_, total_, rank_, columns_, panels_, row_panels_, group_panels_, depth_blocks_, parts_;
  Val batch_rows_, batch_panels_;  ///< of one batch
  std::vector<Val> counts_;
  Val whole_, tail_blocks_;  ///< tiles that are not cut; k-blocks of those that are
  Val begin_, end_;          ///< this cluster's share of them
};

/// The most clusters that share a last round: their sums have a workspace.
inline constexpr int kSm90MostTailClusters = 160;

}  // namespace coda
