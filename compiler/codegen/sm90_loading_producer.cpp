// The producer for operands that tensor maps can't address: the warpgroup reads elements by predicated loads, any
// strides, and stores them where a bulk copy would have put them. See sm90_producer.h.
#include <numeric>

#include "compiler/codegen/nvptx_ops.h"
#include "compiler/codegen/sm90_producer.h"

namespace coda {
namespace {

constexpr int kRowBytes = 2 * kSm90TileK;
constexpr int kElementBytes = 2;
constexpr int kInFlight = 8;  // loads of a thread before their stores; more would not fit the producer's registers

class LoadingProducer {
 public:
  explicit LoadingProducer(Sm90Context& context) : c_(context), b_(context.b), s_(context.plan.schedule) {}

  void emit() {
    const Sm90Turn start = c_.ring.producer_start();
    const Val initial[] = {c_.tiles.first(), start.stage, start.parity};
    b_.loop(
        "load.produce", initial, [&](std::span<const Val> v) { return b_.test(IntTest::Ult, v[0], c_.tiles.total()); },
        [&](std::span<const Val> v) {
          const Sm90Tile tile = c_.tiles.at(v[0]);
          const Val turn[] = {b_.i32(0), v[1], v[2]};
          std::vector<Val> after = b_.loop(
              "load.k", turn, [&](std::span<const Val> k) { return b_.test(IntTest::Ult, k[0], c_.depth_blocks); },
              [&](std::span<const Val> k) {
                const Sm90Turn next = stage(tile, k[0], {k[1], k[2]});
                return std::vector<Val>{b_.add(k[0], 1), next.stage, next.parity};
              });
          return std::vector<Val>{b_.add(v[0], c_.tiles.step()), after[1], after[2]};
        });
  }

 private:
  struct Operand {
    const GemmOperand& what;
    bool depth_major;
    int rows;    ///< of the stage
    int width;   ///< order of rows: see Sm90RegionPlan
    Val start;   ///< I32, first row or column
    Val extent;  ///< I32, rows or columns there are, counted like `start`
    Val offset;  ///< I64, what a row's number begins at, in elements along the outer axes' numbering
  };

  Sm90Turn stage(const Sm90Tile& tile, Val k, Sm90Turn now) {
    c_.ring.wait_empty(now);
    Val base = b_.shared_int(c_.ring.base(now.stage));
    Val depth = b_.mul(k, kSm90TileK);
    fill(base, depth,
         {c_.epilogue.a, c_.plan.a_depth_major, s_.tile_m, 2, tile.row, c_.arguments.extent32(c_.rows), b_.i64(0)});
    c_.for_region(tile.region, {}, [&](int r) {
      const Region& region = c_.epilogue.regions[static_cast<size_t>(r)];
      const Sm90RegionPlan& plan = c_.plan.regions[static_cast<size_t>(r)];
      for (int i = 0; i < plan.segments; ++i) {
        fill(b_.add(base, s_.a_bytes() + i * plan.step * kRowBytes), depth,
             {c_.epilogue.b, c_.plan.b_depth_major, plan.step, plan.width, tile.column,
              c_.arguments.extent32(region.extent), c_.arguments.extent(region.segments[static_cast<size_t>(i)])});
      }
      return std::vector<Val>{};
    });
    gpu::fence_async_shared(b_);
    gpu::named_barrier(b_, b_.i32(Sm90Context::kProducerBarrier), kWarpgroup);
    b_.when(b_.test(IntTest::Eq, c_.thread_in_wg, 0), "filled",
            [&] { gpu::mbarrier_arrive(b_, c_.ring.full(now.stage)); });
    return c_.ring.next(now);
  }

  void fill(Val shared, Val depth, const Operand& operand) {
    const int each = operand.rows * kSm90TileK / kWarpgroup;  // elements of one thread
    const int batch = std::gcd(each, kInFlight);
    const Val initial[] = {c_.thread_in_wg};
    b_.loop(
        "fill", initial, [&](std::span<const Val> v) { return b_.test(IntTest::Ult, v[0], operand.rows * kSm90TileK); },
        [&](std::span<const Val> v) {
          std::vector<Val> values, places;
          for (int i = 0; i < batch; ++i) {
            const Place place = place_of(b_.add(v[0], i * kWarpgroup), operand);
            places.push_back(b_.add(shared, place.shared));
            values.push_back(load(operand, b_.add(operand.start, place.row), b_.add(depth, place.depth)));
          }
          for (int i = 0; i < batch; ++i) {
            gpu::store_shared(b_, places[static_cast<size_t>(i)], values[static_cast<size_t>(i)], kElementBytes);
          }
          return std::vector<Val>{b_.add(v[0], batch * kWarpgroup)};
        });
  }

  struct Place {
    Val row, depth;  ///< of the operand, relative to the tile
    Val shared;      ///< bytes from the operand's place in the stage
  };

  /// Neighbouring threads take elements that are neighbours in memory.
  Place place_of(Val number, const Operand& operand) {
    Val low = b_.op(IntOp::And, number, kSm90TileK - 1), high = b_.op(IntOp::Lshr, number, 6);
    const auto swizzled = [&](Val row, Val inner) {
      Val chunk = b_.op(IntOp::Xor, b_.op(IntOp::Lshr, inner, 3), b_.op(IntOp::And, row, 7));
      Val within = b_.op(IntOp::Shl, b_.op(IntOp::And, inner, 7), 1);
      return b_.add(b_.add(b_.mul(row, kRowBytes), b_.op(IntOp::Shl, chunk, 4)), within);
    };
    if (operand.depth_major) return {memory_row(high, operand.width), low, swizzled(high, low)};
    // Blocks of 64 rows; `high` counts depth inside a block, then blocks.
    Val block = b_.op(IntOp::Lshr, high, 6), k = b_.op(IntOp::And, high, kSm90TileK - 1);
    Val shared = b_.add(b_.mul(block, kSm90TileK * kRowBytes), swizzled(k, low));
    return {b_.add(b_.op(IntOp::Shl, block, 6), low), k, shared};
  }

  /// The row that lies at shared row `row` of a segment in the permuted order.
  Val memory_row(Val row, int width) {
    if (width == 2) return row;
    const int group = 4 * width;
    Val inside = b_.op(IntOp::And, row, group - 1);
    Val quad = b_.op(IntOp::And, b_.op(IntOp::Lshr, inside, 1), 3);
    Val result = b_.add(b_.sub(row, inside), b_.mul(quad, width));
    return b_.add(result, b_.add(b_.mul(b_.op(IntOp::Lshr, inside, 3), 2), b_.op(IntOp::And, inside, 1)));
  }

  Val load(const Operand& operand, Val row, Val depth) {
    const int param = operand.what.param;
    Val ok = b_.both(b_.test(IntTest::Ult, row, operand.extent),
                     b_.test(IntTest::Ult, depth, c_.arguments.extent32(c_.epilogue.depth)));
    Val index = b_.mul(b_.convert(depth, Ty::I64), c_.arguments.stride(param, operand.what.depth_axis));
    // Outer axes, innermost first: digits of the row's number.
    Val rest = b_.add(b_.convert(row, Ty::I64), operand.offset);
    const std::vector<int>& axes = operand.what.outer_axes;
    for (size_t i = axes.size(); i-- > 0;) {
      Val digit = rest;
      if (i > 0) {
        const Dim& length =
            c_.epilogue.program.params[static_cast<size_t>(param)].dims[static_cast<size_t>(axes[i])].extent;
        Val extent = c_.arguments.extent(length);
        digit = b_.op(IntOp::Urem, rest, extent);
        rest = b_.op(IntOp::Udiv, rest, extent);
      }
      index = b_.add(index, b_.mul(digit, c_.arguments.stride(param, axes[i])));
    }
    Val address = b_.add(c_.arguments.pointer(param), b_.mul(index, kElementBytes));
    return gpu::load_element(b_, address, kElementBytes, ok);
  }

  Sm90Context& c_;
  NvptxBuilder& b_;
  const Sm90Schedule& s_;
};

}  // namespace

void emit_sm90_loading_producer(Sm90Context& context) { LoadingProducer(context).emit(); }

}  // namespace coda
