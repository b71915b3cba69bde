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
  row_panels_ = b_.mul(panels_, s.cluster);
  columns_ = b_.i32(0);
  for (size_t r = 0; r < plan_.regions.size(); ++r) {
    counts_.push_back(b_.ceil_div(arguments_.extent32(epilogue_.regions[r].extent), plan_.regions[r].step));
    columns_ = b_.add(columns_, counts_.back());
  }
  depth_blocks_ = depth_blocks;
  parts_ = s.split > 1 ? b_.op(IntOp::Umin, depth_blocks, s.split) : b_.i32(1);
  total_ = b_.mul(columns_, panels_);
  if (s.split > 1) total_ = b_.mul(total_, parts_);
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
  tile.number = s.cluster > 1 ? b_.add(b_.mul(number, s.cluster), rank_) : number;
  Val per_group = b_.mul(columns_, s.group_m);
  Val group = b_.op(IntOp::Udiv, number, per_group);
  Val inside = b_.sub(number, b_.mul(group, per_group));
  Val first_panel = b_.mul(group, s.group_m);
  Val height = b_.op(IntOp::Umin, b_.sub(panels_, first_panel), s.group_m);
  Val column = b_.op(IntOp::Udiv, inside, height);
  Val panel = b_.add(first_panel, b_.sub(inside, b_.mul(column, height)));
  tile.batch = epilogue_.batch > 0 ? b_.op(IntOp::Udiv, panel, batch_panels_) : b_.i32(0);
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
