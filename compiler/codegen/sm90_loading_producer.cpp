// The producer for operands that tensor maps can't address: the warpgroup reads elements by predicated loads, any
// strides, and stores them where a bulk copy would have put them. See sm90_producer.h.
#include <functional>
#include <numeric>

#include "compiler/codegen/nvptx_ops.h"
#include "compiler/codegen/sm90_producer.h"

namespace coda {
namespace {

constexpr int kRowBytes = 2 * kSm90TileK;
constexpr int kElementBytes = 2;
constexpr int kFewRegisters = 32;
constexpr int kInFlight = 4;  // loads of a thread before their stores; more would not fit the producer's registers

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
    Val offset;  ///< I64, number of row or column 0 along the operand's outer axes
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

  /// Neighbouring threads take elements that are neighbours in memory: a thread keeps its place `inner` in the lines of
  /// 64 elements and walks over the lines.
  void fill(Val shared, Val depth, const Operand& operand) {
    const int param = operand.what.param;
    Val inner = b_.op(IntOp::And, c_.thread_in_wg, kSm90TileK - 1);
    Val depth_step = b_.mul(c_.arguments.stride(param, operand.what.depth_axis), kElementBytes);
    Val base = c_.arguments.pointer(param);
    Val depth_end = c_.arguments.extent32(c_.epilogue.depth);
    if (operand.depth_major) {
      Val at = b_.add(depth, inner);
      base = b_.add(base, b_.mul(b_.convert(at, Ty::I64), depth_step));
      lines(shared, operand.rows, inner, b_.test(IntTest::Ult, at, depth_end), [&](Val line) {
        Val row = b_.add(operand.start, memory_row(line, operand.width));
        return Source{b_.add(base, outer_bytes(operand, row)), b_.test(IntTest::Ult, row, operand.extent)};
      });
      return;
    }
    const Val initial[] = {b_.i32(0)};
    b_.loop(
        "blocks", initial, [&](std::span<const Val> v) { return b_.test(IntTest::Ult, v[0], operand.rows); },
        [&](std::span<const Val> v) {
          Val row = b_.add(operand.start, b_.add(v[0], inner));
          Val column = b_.add(base, outer_bytes(operand, row));
          lines(b_.add(shared, b_.mul(v[0], kRowBytes)), kSm90TileK, inner, b_.test(IntTest::Ult, row, operand.extent),
                [&](Val line) {
                  Val at = b_.add(depth, line);
                  return Source{b_.add(column, b_.mul(b_.convert(at, Ty::I64), depth_step)),
                                b_.test(IntTest::Ult, at, depth_end)};
                });
          return std::vector<Val>{b_.add(v[0], kSm90TileK)};
        });
  }

  struct Source {
    Val address;  ///< I64
    Val inside;   ///< I1
  };

  /// Copies element `inner` of each of `count` swizzled lines.
  void lines(Val shared, int count, Val inner, Val inside, const std::function<Source(Val)>& source) {
    constexpr int kLinesAtOnce = kWarpgroup / kSm90TileK;
    const int in_flight = s_.producer_registers && s_.producer_registers < kFewRegisters ? 1 : kInFlight;
    const int batch = std::gcd(count / kLinesAtOnce, in_flight);
    const Val initial[] = {b_.op(IntOp::Lshr, c_.thread_in_wg, 6)};
    b_.loop(
        "lines", initial, [&](std::span<const Val> v) { return b_.test(IntTest::Ult, v[0], count); },
        [&](std::span<const Val> v) {
          std::vector<Val> values;
          for (int i = 0; i < batch; ++i) {
            const Source from = source(b_.add(v[0], i * kLinesAtOnce));
            values.push_back(gpu::load_element(b_, from.address, kElementBytes, b_.both(inside, from.inside)));
          }
          for (int i = 0; i < batch; ++i) {
            Val line = b_.add(v[0], i * kLinesAtOnce);
            Val chunk = b_.op(IntOp::Xor, b_.op(IntOp::Lshr, inner, 3), b_.op(IntOp::And, line, 7));
            Val within = b_.add(b_.op(IntOp::Shl, chunk, 4), b_.op(IntOp::Shl, b_.op(IntOp::And, inner, 7), 1));
            gpu::store_shared(b_, b_.add(b_.add(shared, b_.mul(line, kRowBytes)), within),
                              values[static_cast<size_t>(i)], kElementBytes);
          }
          return std::vector<Val>{b_.add(v[0], batch * kLinesAtOnce)};
        });
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

  /// Bytes from the operand's base to row number `row`, along its outer axes: digits of the number, innermost first.
  Val outer_bytes(const Operand& operand, Val row) {
    const int param = operand.what.param;
    const std::vector<int>& axes = operand.what.outer_axes;
    Val rest = b_.add(b_.convert(row, Ty::I64), operand.offset), index = b_.i64(0);
    for (size_t i = axes.size(); i-- > 0;) {
      Val digit = rest;
      if (i > 0) {
        const Param& p = c_.epilogue.program.params[static_cast<size_t>(param)];
        Val extent = c_.arguments.extent(p.dims[static_cast<size_t>(axes[i])].extent);
        digit = b_.op(IntOp::Urem, rest, extent);
        rest = b_.op(IntOp::Udiv, rest, extent);
      }
      index = b_.add(index, b_.mul(digit, c_.arguments.stride(param, axes[i])));
    }
    return b_.mul(index, kElementBytes);
  }

  Sm90Context& c_;
  NvptxBuilder& b_;
  const Sm90Schedule& s_;
};

}  // namespace

void emit_sm90_loading_producer(Sm90Context& context) { LoadingProducer(context).emit(); }

}  // namespace coda
