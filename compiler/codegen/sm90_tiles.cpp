#include "compiler/codegen/sm90_tiles.h"

#include "compiler/codegen/nvptx_ops.h"

namespace coda {

void Sm90Tiles::prepare(const Dim& rows, Val depth_blocks) {
  const Sm90Schedule& s = plan_.schedule;
  const bool clustered = s.cluster > 1;
  rank_ = clustered ? gpu::special_register(b_, "cluster.ctarank") : b_.i32(0);
  first_ = gpu::special_register(b_, clustered ? "clusterid.x" : "ctaid.x");
  step_ = gpu::special_register(b_, clustered ? "nclusterid.x" : "nctaid.x");
  batch_rows_ = arguments_.extent32(epilogue_.batch > 0 ? epilogue_.rows_in_batch() : rows);
  panels_ = batch_panels_ = b_.ceil_div(batch_rows_, s.tile_m * s.cluster);
  if (epilogue_.batch > 0) panels_ = b_.mul(batch_panels_, arguments_.extent32(epilogue_.batches()));
  row_panels_ = group_panels_ = b_.mul(panels_, s.cluster);
  if (epilogue_.kept > 0) {
    group_panels_ = b_.mul(b_.mul(batch_panels_, arguments_.extent32(epilogue_.batches_in_group())), s.cluster);
  }
  columns_ = b_.i32(0);
  for (size_t r = 0; r < plan_.regions.size(); ++r) {
    counts_.push_back(b_.ceil_div(arguments_.extent32(epilogue_.regions[r].extent), plan_.regions[r].step));
    columns_ = b_.add(columns_, counts_.back());
  }
  depth_blocks_ = depth_blocks;
  parts_ = s.split > 1 ? b_.op(IntOp::Umin, depth_blocks, s.split) : b_.i32(1);
  total_ = b_.mul(columns_, panels_);
  if (s.split > 1) total_ = b_.mul(total_, parts_);
  if (s.tail) cut_tail();
}

void Sm90Tiles::cut_tail() {
  constexpr int kMostBlocks = 1 << 16;  // of a tile: products of block and cluster numbers fit 32 bits
  Val rest = b_.op(IntOp::Urem, total_, step_);
  tail_blocks_ = b_.mul(rest, depth_blocks_);
  Val usable =
      b_.both(b_.test(IntTest::Ule, step_, kSm90MostTailClusters), b_.test(IntTest::Ult, depth_blocks_, kMostBlocks));
  usable = b_.both(usable, b_.test(IntTest::Uge, tail_blocks_, step_));  // a block for each
  // Of less than a round, tiles are as many as CTAs, and so there is no rest.
  whole_ = b_.select(usable, b_.sub(total_, rest), total_);
  tail_blocks_ = b_.select(usable, tail_blocks_, b_.i32(0));
  begin_ = tail_begin(first_);
  end_ = tail_begin(b_.add(first_, 1));
  Val next_tile = b_.mul(b_.add(b_.op(IntOp::Udiv, begin_, depth_blocks_), 1), depth_blocks_);
  Val shares = b_.select(b_.test(IntTest::Ugt, end_, next_tile), b_.mul(step_, 2), step_);
  total_ = b_.select(usable, b_.add(whole_, shares), total_);
}

Val Sm90Tiles::tail_owner(Val block) {
  // The last c with c*all/clusters <= block, rounded down as tail_begin() does.
  return b_.op(IntOp::Udiv, b_.add(b_.mul(b_.add(block, 1), step_), -1), b_.op(IntOp::Umax, tail_blocks_, 1));
}

void Sm90Tiles::at_tail(Sm90Tile& tile, Val& number) {
  Val in_tail = b_.test(IntTest::Uge, number, whole_);
  Val is_second = b_.test(IntTest::Uge, b_.sub(number, whole_), step_);
  Val first_tile = b_.op(IntOp::Udiv, begin_, depth_blocks_);
  Val border = b_.mul(b_.add(first_tile, 1), depth_blocks_);
  tile.tail = b_.select(is_second, b_.add(first_tile, 1), first_tile);
  Val from = b_.select(is_second, border, begin_);
  Val to = b_.select(is_second, end_, b_.op(IntOp::Umin, end_, border));
  tile.part = b_.select(is_second, b_.i32(1), b_.i32(0));
  tile.first_block = b_.select(in_tail, b_.sub(from, b_.mul(tile.tail, depth_blocks_)), b_.i32(0));
  tile.blocks = b_.select(in_tail, b_.sub(to, from), depth_blocks_);
  tile.is_part = b_.test(IntTest::Ne, tile.blocks, depth_blocks_);
  number = b_.select(in_tail, b_.add(whole_, tile.tail), number);
}

Val Sm90Tiles::parts_of(const Sm90Tile& tile) {
  if (!plan_.schedule.tail) return parts_;
  Val begin = b_.mul(tile.tail, depth_blocks_), last = b_.add(begin, b_.add(depth_blocks_, -1));
  return b_.add(b_.sub(tail_owner(last), tail_owner(begin)), 1);
}

Val Sm90Tiles::counter_of(const Sm90Tile& tile) { return plan_.schedule.tail ? of_rank(tile.tail) : tile.number; }

Val Sm90Tiles::sums_of(const Sm90Tile& tile, Val part) {
  if (!plan_.schedule.tail) return b_.add(b_.mul(tile.number, parts_), part);
  // Two places for each cluster: of the tile that its share begins in, and of the one after it.
  Val begin = b_.mul(tile.tail, depth_blocks_);
  Val owner = b_.add(tail_owner(begin), part);
  Val began_before = b_.convert(b_.test(IntTest::Ult, tail_begin(owner), begin), Ty::I32);
  return of_rank(b_.add(b_.mul(owner, 2), began_before));
}

Val Sm90Tiles::own_sums(const Sm90Tile& tile) {
  if (!plan_.schedule.tail) return sums_of(tile, tile.part);
  return of_rank(b_.add(b_.mul(first_, 2), tile.part));
}

Sm90Tile Sm90Tiles::at(Val number) {
  const Sm90Schedule& s = plan_.schedule;
  Sm90Tile tile;
  tile.part = tile.first_block = b_.i32(0);
  tile.blocks = depth_blocks_;
  if (s.split > 1) {
    Val whole = b_.op(IntOp::Udiv, number, parts_);
    tile.part = b_.sub(number, b_.mul(whole, parts_));
    number = whole;
    tile.first_block = b_.op(IntOp::Udiv, b_.mul(depth_blocks_, tile.part), parts_);
    Val end = b_.op(IntOp::Udiv, b_.mul(depth_blocks_, b_.add(tile.part, 1)), parts_);
    tile.blocks = b_.sub(end, tile.first_block);
  }
  if (s.tail) at_tail(tile, number);
  tile.number = s.cluster > 1 ? b_.add(b_.mul(number, s.cluster), rank_) : number;
  Val per_group = b_.mul(columns_, s.group_m);
  Val group = b_.op(IntOp::Udiv, number, per_group);
  Val inside = b_.sub(number, b_.mul(group, per_group));
  Val first_panel = b_.mul(group, s.group_m);
  Val height = b_.op(IntOp::Umin, b_.sub(panels_, first_panel), s.group_m);
  Val column = b_.op(IntOp::Udiv, inside, height);
  Val panel = b_.add(first_panel, b_.sub(inside, b_.mul(column, height)));
  tile.batch = epilogue_.batch > 0 ? b_.op(IntOp::Udiv, panel, batch_panels_) : b_.i32(0);
  tile.group = epilogue_.kept > 0 ? b_.op(IntOp::Udiv, tile.batch, arguments_.extent32(epilogue_.batches_in_group()))
                                  : b_.i32(0);
  Val in_batch = epilogue_.batch > 0 ? b_.sub(panel, b_.mul(tile.batch, batch_panels_)) : panel;
  const auto of_cta = [&](Val number) { return s.cluster > 1 ? b_.add(b_.mul(number, s.cluster), rank_) : number; };
  tile.panel = of_cta(panel);
  tile.row = tile.row_in_batch = b_.mul(of_cta(in_batch), s.tile_m);
  tile.row_end = batch_rows_;
  if (epilogue_.batch > 0) {
    Val start = b_.mul(tile.batch, batch_rows_);
    tile.row = b_.add(start, tile.row);
    tile.row_end = b_.add(start, batch_rows_);
  }
  tile.column_index = column;
  tile.region = b_.i32(0);
  Val local = column, step = b_.i32(plan_.regions[0].step), start = b_.i32(0);
  for (size_t r = 1; r < plan_.regions.size(); ++r) {
    start = b_.add(start, counts_[r - 1]);
    Val beyond = b_.test(IntTest::Uge, column, start);
    tile.region = b_.select(beyond, b_.i32(static_cast<int64_t>(r)), tile.region);
    local = b_.select(beyond, b_.sub(column, start), local);
    step = b_.select(beyond, b_.i32(plan_.regions[r].step), step);
  }
  tile.column_in_region = local;
  tile.column = b_.mul(local, step);
  return tile;
}

}  // namespace coda
