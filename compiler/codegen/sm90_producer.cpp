// The tensor-map producer. See sm90_producer.h.
#include "compiler/codegen/sm90_producer.h"

#include <algorithm>

#include "compiler/codegen/nvptx_ops.h"

namespace coda {
namespace {

constexpr int kRowBytes = kSm90RowBytes;
constexpr int kBlock = 64;  // rows or columns of a box of an operand whose depth is not contiguous

class TensorProducer {
 public:
  explicit TensorProducer(Sm90Context& context) : c_(context), b_(context.b), s_(context.plan.schedule) {}

  void emit() {
    const Sm90Turn start = c_.ring.producer_start();
    std::vector<Val> initial = {c_.tiles.first(), start.stage, start.parity};
    if (s_.dependent) {
      if (reads_ahead()) initial.push_back(fill_ahead());
      gpu::await_earlier_kernels(b_);
    }
    b_.loop(
        "produce", initial, [&](std::span<const Val> v) { return b_.test(IntTest::Ult, v[0], c_.tiles.total()); },
        [&](std::span<const Val> v) {
          const Sm90Tile tile = c_.tiles.at(v[0]);
          const Ty types[] = {Ty::I32, Ty::I32};
          if (reads_ahead()) ahead_ = v[3];
          std::vector<Val> turn = c_.for_region(tile.region, types, [&](int r) {
            return region_tile(r, tile, {v[1], v[2]});
          });
          std::vector<Val> next = {b_.add(v[0], c_.tiles.step()), turn[0], turn[1]};
          if (reads_ahead()) next.push_back(b_.i32(0));
          return next;
        });
    if (s_.dependent == 2) gpu::allow_next_kernel(b_);
  }

 private:
  /// Which operands of a stage are copied.
  enum class Which : uint8_t { Both, Constant, Others };

  bool is_constant(const GemmOperand& operand) const { return c_.plan.is_constant(operand.param); }
  /// Whether something can be copied that no kernel before this one writes.
  bool reads_ahead() const {
    const GemmTerm first = c_.epilogue.terms()[0];
    return s_.dependent && (is_constant(first.a) || is_constant(first.b));
  }

  /// Into the ring's empty stages, what is constant of this CTA's first k-blocks; returns of how many.
  Val fill_ahead() {
    Block fill = b_.block("ahead"), after = b_.block("ahead.end"), start = b_.here();
    b_.branch(b_.test(IntTest::Ult, c_.tiles.first(), c_.tiles.total()), fill, after);
    b_.enter(fill);
    const Sm90Tile tile = c_.tiles.at(c_.tiles.first());
    Val blocks = c_.epilogue.terms().size() == 1 ? tile.blocks : c_.term_blocks[0];
    Val count = b_.op(IntOp::Umin, blocks, s_.stages);
    filling_ahead_ = count;
    c_.for_region(tile.region, {}, [&](int r) {
      region_tile(r, tile, c_.ring.producer_start());
      return std::vector<Val>{};
    });
    filling_ahead_ = {};
    Block filled = b_.here();
    b_.jump(after);
    b_.enter(after);
    Phi done = b_.phi(Ty::I32);
    b_.incoming(done, b_.i32(0), start);
    b_.incoming(done, count, filled);
    return done.value;
  }

  /// All k-blocks of one tile. A ragged last group of permuted rows takes boxes of two rows.
  std::vector<Val> region_tile(int r, const Sm90Tile& tile, Sm90Turn turn) {
    const Sm90RegionPlan& region = c_.plan.regions[static_cast<size_t>(r)];
    if (!region.permuted()) return blocks(r, tile, turn, false);
    Val extent = c_.arguments.extent32(c_.epilogue.regions[static_cast<size_t>(r)].extent);
    Val reaches_over = b_.test(IntTest::Ugt, b_.add(tile.column, region.step), extent);
    Val has_rest = b_.test(IntTest::Ne, b_.op(IntOp::And, extent, region.group() - 1), 0);
    Block ragged = b_.block("ragged"), whole = b_.block("whole"), join = b_.block("blocks.end");
    b_.branch(b_.both(reaches_over, has_rest), ragged, whole);
    b_.enter(ragged);
    std::vector<Val> from_ragged = blocks(r, tile, turn, true);
    Block ragged_end = b_.here();
    b_.jump(join);
    b_.enter(whole);
    std::vector<Val> from_whole = blocks(r, tile, turn, false);
    Block whole_end = b_.here();
    b_.jump(join);
    b_.enter(join);
    Phi stage = b_.phi(Ty::I32), parity = b_.phi(Ty::I32);
    b_.incoming(stage, from_ragged[0], ragged_end);
    b_.incoming(stage, from_whole[0], whole_end);
    b_.incoming(parity, from_ragged[1], ragged_end);
    b_.incoming(parity, from_whole[1], whole_end);
    return {stage.value, parity.value};
  }

  std::vector<Val> blocks(int r, const Sm90Tile& tile, Sm90Turn turn, bool ragged) {
    const Sm90RegionPlan& region = c_.plan.regions[static_cast<size_t>(r)];
    Val of_pairs;  // in a ragged tile whose B comes in boxes of two rows
    if (ragged) {
      Val extent = c_.arguments.extent32(c_.epilogue.regions[static_cast<size_t>(r)].extent);
      Val pairs = b_.op(IntOp::Lshr, b_.add(b_.sub(extent, tile.column), 1), 1);
      pairs = b_.op(IntOp::Umin, pairs, region.step / 2);
      of_pairs = b_.add(b_.mul(pairs, 2 * kRowBytes * region.segments), s_.a_bytes());
    }
    const std::vector<GemmTerm> terms = c_.epilogue.terms();
    for (size_t t = 0; t < (filling_ahead_ ? 1 : terms.size()); ++t) {
      term_ = c_.plan.term(t);
      a_constant_ = is_constant(terms[t].a);
      b_constant_ = is_constant(terms[t].b);
      a_batch_ = sm90_batch_digits(c_, terms[t].a, tile.batch);
      b_batch_ = sm90_batch_digits(c_, terms[t].b, tile.batch);
      Val count = terms.size() == 1 ? tile.blocks : c_.term_blocks[t];
      if (filling_ahead_) count = filling_ahead_;
      // Of products of one tile each has its own way to bring B, some in blocks that reach beyond the tile's columns.
      const int rows = term_.b_depth_major ? s_.tile_n : std::max(s_.tile_n, s_.b_rows);
      Val bytes = ragged ? of_pairs : b_.i32(s_.a_bytes() + rows * kRowBytes);
      const bool is_first = t == 0 && reads_ahead() && !filling_ahead_;
      turn = term_blocks({r, tile, ragged}, turn, count, bytes, is_first ? ahead_ : Val{});
    }
    return {turn.stage, turn.parity};
  }

  /// What a stage is copied of.
  struct Place {
    int region;
    const Sm90Tile& tile;
    bool ragged;
  };

  /// The k-blocks of one product; of the first `ahead` (null: none) what is constant is there.
  Sm90Turn term_blocks(const Place& place, const Sm90Turn& turn, Val count, Val bytes, Val ahead) {
    const Val initial[] = {b_.i32(0), turn.stage, turn.parity};
    std::vector<Val> after = b_.loop(
        "k", initial, [&](std::span<const Val> v) { return b_.test(IntTest::Ult, v[0], count); },
        [&](std::span<const Val> v) {
          const Sm90Turn now{v[1], v[2]};
          barrier_ = c_.ring.full(now.stage);
          const auto begin = [&](Which which) {
            if (!filling_ahead_) c_.ring.wait_empty(now);
            gpu::mbarrier_expect(b_, barrier_, bytes);
            copy_stage(place, v[0], now.stage, which);
          };
          if (filling_ahead_) {
            begin(Which::Constant);
          } else if (!ahead) {
            begin(Which::Both);
          } else {
            b_.when(b_.test(IntTest::Uge, v[0], ahead), "new", [&] { begin(Which::Constant); });
            copy_stage(place, v[0], now.stage, Which::Others);
          }
          const Sm90Turn next = c_.ring.next(now);
          return std::vector<Val>{b_.add(v[0], 1), next.stage, next.parity};
        });
    return {after[1], after[2]};
  }

  void copy_stage(const Place& place, Val k, Val stage, Which which) {
    const auto wanted = [&](bool constant) { return which == Which::Both || constant == (which == Which::Constant); };
    Val base = c_.ring.base(stage);
    Val depth = b_.mul(b_.add(k, place.tile.first_block), c_.plan.tile_k());
    if (wanted(a_constant_)) load_a(base, depth, place.tile.row_in_batch);
    if (!wanted(b_constant_)) return;
    load_b(place.region, b_.offset(base, s_.a_bytes()), depth, place.tile.column, place.ragged);
  }

  void copy(Val to, Val map, std::initializer_list<Val> at, bool multicast) {
    std::vector<Val> coordinates(at);
    const std::vector<Val>& batch = multicast ? b_batch_ : a_batch_;  // B is what may be multicast
    coordinates.insert(coordinates.end(), batch.begin(), batch.end());
    gpu::tensor_load(b_, to, barrier_, map, coordinates,
                     multicast && s_.cluster > 1 ? std::optional<int>((1 << s_.cluster) - 1) : std::nullopt);
  }

  void load_a(Val to, Val depth, Val row) {
    Val map = b_.tensor_map(term_.a_map);
    if (term_.a_depth_major) {
      copy(to, map, {depth, row}, false);
      return;
    }
    for (int i = 0; i < s_.tile_m / kBlock; ++i) {
      copy(b_.offset(to, i * kBlock * kRowBytes), map, {b_.add(row, i * kBlock), depth}, false);
    }
  }

  /// This CTA's slice of B, to every CTA of the cluster: whole segments where they divide evenly among the CTAs, else a
  /// part of each.
  void load_b(int r, Val to, Val depth, Val column, bool ragged) {
    const Sm90RegionPlan& region = c_.plan.regions[static_cast<size_t>(r)];
    const Sm90TermPlan::Maps& maps = term_.regions[static_cast<size_t>(r)];
    Val rank = c_.tiles.rank();
    if (region.whole_segments(s_.cluster)) {
      const int each = region.segments / s_.cluster;
      Val mine = b_.offset(to, b_.mul(rank, each * region.step * kRowBytes));
      for (int i = 0; i < each; ++i) {
        Val destination = b_.offset(mine, i * region.step * kRowBytes);
        Val plain = segment_map(maps.plain, i, each);
        Val permuted = region.permuted() ? segment_map(maps.permuted, i, each) : Val{};
        load_rows(r, destination, plain, permuted, depth, column, region.step, ragged);
      }
      return;
    }
    const int rows = region.step / s_.cluster;
    Val start = s_.cluster > 1 ? b_.add(column, b_.mul(rank, rows)) : column;
    Val mine = s_.cluster > 1 ? b_.offset(to, b_.mul(rank, rows * kRowBytes)) : to;
    for (int i = 0; i < region.segments; ++i) {
      Val permuted = region.permuted() ? b_.tensor_map(maps.permuted[static_cast<size_t>(i)]) : Val{};
      load_rows(r, b_.offset(mine, i * region.step * kRowBytes), b_.tensor_map(maps.plain[static_cast<size_t>(i)]),
                permuted, depth, start, rows, ragged);
    }
  }

  /// The map of segment rank * each + i.
  Val segment_map(const std::vector<int>& maps, int i, int each) {
    Val map = b_.tensor_map(maps[static_cast<size_t>(i)]);
    for (int rank = 1; rank < s_.cluster; ++rank) {
      map = b_.select(b_.test(IntTest::Eq, c_.tiles.rank(), rank),
                      b_.tensor_map(maps[static_cast<size_t>(rank * each + i)]), map);
    }
    return map;
  }

  void load_rows(int r, Val to, Val plain, Val permuted, Val depth, Val start, int rows, bool ragged) {
    const Sm90RegionPlan& region = c_.plan.regions[static_cast<size_t>(r)];
    if (!term_.b_depth_major) {
      for (int i = 0; i * kBlock < rows; ++i) {
        copy(b_.offset(to, i * kBlock * kRowBytes), plain, {b_.add(start, i * kBlock), depth}, true);
      }
    } else if (!region.permuted()) {
      copy(to, plain, {depth, start}, true);
    } else if (!ragged) {
      Val zero = b_.i32(0);
      copy(to, permuted, {depth, zero, zero, zero, b_.op(IntOp::Udiv, start, region.group())}, true);
    } else {
      load_pairs(r, to, plain, depth, start, rows);
    }
  }

  /// The permuted order by boxes of two rows, none of them beyond the extent: pair p lies at shared rows 2p, 2p+1.
  void load_pairs(int r, Val to, Val plain, Val depth, Val start, int rows) {
    const Sm90RegionPlan& region = c_.plan.regions[static_cast<size_t>(r)];
    Val left = b_.sub(c_.arguments.extent32(c_.epilogue.regions[static_cast<size_t>(r)].extent), start);
    const Val initial[] = {b_.i32(0)};
    b_.loop(
        "pairs", initial, [&](std::span<const Val> v) { return b_.test(IntTest::Ult, v[0], rows / 2); },
        [&](std::span<const Val> v) {
          Val group = b_.op(IntOp::Udiv, v[0], region.group() / 2);
          Val inside = b_.sub(v[0], b_.mul(group, region.group() / 2));
          Val row = b_.add(b_.mul(group, region.group()), b_.mul(b_.op(IntOp::And, inside, 3), region.width));
          row = b_.add(row, b_.mul(b_.op(IntOp::Lshr, inside, 2), 2));
          b_.when(b_.test(IntTest::Slt, row, left), "pair", [&] {
            copy(b_.offset(to, b_.mul(v[0], 2 * kRowBytes)), plain, {depth, b_.add(start, row)}, true);
          });
          return std::vector<Val>{b_.add(v[0], 1)};
        });
  }

  Sm90Context& c_;
  NvptxBuilder& b_;
  const Sm90Schedule& s_;
  Val barrier_;
  Sm90TermPlan term_;                             ///< of the product whose blocks are copied
  std::vector<Val> a_batch_, b_batch_;            ///< coordinates of its batch axes
  bool a_constant_ = false, b_constant_ = false;  ///< of its operands
  Val ahead_;          ///< I32: k-blocks of this CTA's tile of which what is constant is already on its way
  Val filling_ahead_;  ///< I32: while those are copied, how many
};

}  // namespace

std::vector<Val> sm90_batch_digits(Sm90Context& context, const GemmOperand& operand, Val batch) {
  NvptxBuilder& b = context.b;
  const Param& param = context.epilogue.program.params[static_cast<size_t>(operand.param)];
  std::vector<Val> digits;
  Val rest = batch;
  for (size_t i = operand.batch_axes.size(); i-- > 0;) {
    if (i == 0) {
      digits.push_back(rest);
      break;
    }
    Val extent = context.arguments.extent32(param.dims[static_cast<size_t>(operand.batch_axes[i])].extent);
    Val above = b.op(IntOp::Udiv, rest, extent);
    digits.push_back(b.sub(rest, b.mul(above, extent)));
    rest = above;
  }
  return digits;
}

Val sm90_tensor_maps_usable(Sm90Context& context) {
  NvptxBuilder& b = context.b;
  Val usable = b.i1(true);
  for (size_t t = 0; t <= context.plan.earlier.size(); ++t) {
    usable = b.both(usable, context.arguments.tensor_map_ok(context.plan.term(t).a_map));
  }
  for (size_t r = 0; r < context.plan.regions.size(); ++r) {
    const Sm90RegionPlan& region = context.plan.regions[r];
    Val extent = context.arguments.extent32(context.epilogue.regions[r].extent);
    Val none = b.test(IntTest::Eq, extent, 0), no_group = b.test(IntTest::Ult, extent, region.group());
    const auto need = [&](int map, Val unless) {
      usable = b.both(usable, b.op(IntOp::Or, context.arguments.tensor_map_ok(map), unless));
    };
    for (size_t t = 0; t <= context.plan.earlier.size(); ++t) {
      const Sm90TermPlan::Maps maps = context.plan.term(t).regions[r];
      for (int map : maps.plain) need(map, none);
      for (int map : maps.permuted) need(map, no_group);
    }
  }
  return usable;
}

void emit_sm90_tensor_producer(Sm90Context& context) { TensorProducer(context).emit(); }

}  // namespace coda
