// The producer for operands that tensor maps can't address, also gathered ones: the warpgroup reads elements by
// predicated loads, any strides, and stores them where a bulk copy would have put them. See sm90_producer.h.
#include <functional>
#include <numeric>

#include "compiler/codegen/nvptx_ops.h"
#include "compiler/codegen/sm90_plan.h"
#include "compiler/codegen/sm90_producer.h"

namespace coda {
namespace {

constexpr int kRowBytes = kSm90RowBytes;
constexpr int kBlock = 64;  // rows of an operand whose depth is not contiguous in shared memory
constexpr int kFewRegisters = 32;
constexpr int kInFlight = 4;  // loads of a thread before their stores; more would not fit the producer's registers

class LoadingProducer {
 public:
  explicit LoadingProducer(Sm90Context& context) : c_(context), b_(context.b), s_(context.plan.schedule) {}

  void emit() {
    if (s_.dependent) gpu::await_earlier_kernels(b_);
    const Sm90Turn start = c_.ring.producer_start();
    const Val initial[] = {c_.tiles.first(), start.stage, start.parity};
    b_.loop(
        "load.produce", initial, [&](std::span<const Val> v) { return b_.test(IntTest::Ult, v[0], c_.tiles.total()); },
        [&](std::span<const Val> v) {
          const Sm90Tile tile = c_.tiles.at(v[0]);
          Sm90Turn turn{v[1], v[2]};
          const std::vector<GemmTerm> terms = c_.epilogue.terms();
          for (size_t t = 0; t < terms.size(); ++t) {
            const Val initial[] = {b_.i32(0), turn.stage, turn.parity};
            Val count = terms.size() == 1 ? tile.blocks : c_.term_blocks[t];
            std::vector<Val> after = b_.loop(
                "load.k", initial, [&](std::span<const Val> k) { return b_.test(IntTest::Ult, k[0], count); },
                [&](std::span<const Val> k) {
                  const Sm90Turn next = stage(terms[t], c_.plan.term(t), tile, k[0], {k[1], k[2]});
                  return std::vector<Val>{b_.add(k[0], 1), next.stage, next.parity};
                });
            turn = {after[1], after[2]};
          }
          return std::vector<Val>{b_.add(v[0], c_.tiles.step()), turn.stage, turn.parity};
        });
    if (s_.dependent == 2) gpu::allow_next_kernel(b_);
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
    Val batch;   ///< I32
    Dim depth;
  };

  Sm90Turn stage(const GemmTerm& term, const Sm90TermPlan& where, const Sm90Tile& tile, Val k, Sm90Turn now) {
    c_.ring.wait_empty(now);
    Val base = b_.shared_int(c_.ring.base(now.stage));
    Val depth = b_.mul(b_.add(k, tile.first_block), c_.plan.tile_k());
    fill(base, depth,
         {term.a, where.a_depth_major, s_.tile_m, 2, tile.row_in_batch,
          c_.arguments.extent32(c_.epilogue.rows_in_batch()), b_.i64(0), tile.batch, term.depth});
    c_.for_region(tile.region, {}, [&](int r) {
      const Region& region = c_.epilogue.regions[static_cast<size_t>(r)];
      const Sm90RegionPlan& plan = c_.plan.regions[static_cast<size_t>(r)];
      for (int i = 0; i < plan.segments; ++i) {
        fill(b_.add(base, s_.a_bytes() + i * plan.step * kRowBytes), depth,
             {term.b, where.b_depth_major, plan.step, plan.permuted() ? plan.width : 2, tile.column,
              c_.arguments.extent32(region.extent), c_.arguments.extent(region.segments[static_cast<size_t>(i)]),
              tile.batch, term.depth});
      }
      return std::vector<Val>{};
    });
    gpu::fence_async_shared(b_);
    gpu::named_barrier(b_, b_.i32(Sm90Context::kProducerBarrier), kWarpgroup);
    b_.when(b_.test(IntTest::Eq, c_.thread_in_wg, 0), "filled",
            [&] { gpu::mbarrier_arrive(b_, c_.ring.full(now.stage)); });
    return c_.ring.next(now);
  }

  struct Source {
    Val address;  ///< I64
    Val inside;   ///< I1
  };

  /// Neighbouring threads take elements that are neighbours in memory: a thread keeps its place `inner` in the lines of
  /// 128 bytes and walks over the lines.
  void fill(Val shared, Val depth, const Operand& operand) {
    if (operand.depth_major && operand.what.depth_axis < operand.what.outer_axes.back()) {
      return turn(shared, depth, operand);
    }
    Val inner = b_.op(IntOp::And, c_.thread_in_wg, line_elements_ - 1);
    Val base = batch_base(operand);
    Val depth_end = c_.arguments.extent32(operand.depth);
    if (operand.depth_major) {
      Val at = b_.add(depth, inner);
      base = b_.add(base, depth_bytes(operand, at));
      lines(shared, operand.rows, inner, b_.test(IntTest::Ult, at, depth_end), [&](Val line) {
        const Source row = outer(operand, b_.add(operand.start, memory_row(line, operand.width)));
        return Source{b_.add(base, row.address), row.inside};
      });
      return;
    }
    const Val initial[] = {b_.i32(0)};
    b_.loop(
        "blocks", initial, [&](std::span<const Val> v) { return b_.test(IntTest::Ult, v[0], operand.rows); },
        [&](std::span<const Val> v) {
          const Source row = outer(operand, b_.add(operand.start, b_.add(v[0], inner)));
          Val column = b_.add(base, row.address);
          lines(b_.add(shared, b_.mul(v[0], kRowBytes)), kBlock, inner, row.inside, [&](Val line) {
            Val at = b_.add(depth, line);
            return Source{b_.add(column, depth_bytes(operand, at)), b_.test(IntTest::Ult, at, depth_end)};
          });
          return std::vector<Val>{b_.add(v[0], kBlock)};
        });
  }

  /// Rows are neighbours in memory, depth is in shared memory: a thread takes a row and makes words of its depth. There
  /// are few registers here.
  void turn(Val shared, Val depth, const Operand& operand) {
    const int each = 4 / element_bytes_;
    Val start = batch_base(operand);
    Val depth_left = b_.sub(c_.arguments.extent32(operand.depth), depth);
    const Val first_row[] = {c_.thread_in_wg};
    const auto row = [&](std::span<const Val> r) {
      const Source from_row = outer(operand, b_.add(operand.start, memory_row(r[0], operand.width)));
      Val left = b_.select(from_row.inside, depth_left, b_.i32(0));
      Val line = b_.add(start, from_row.address);
      const Val first[] = {b_.i32(0)};
      const auto word = [&](std::span<const Val> w) {
        Val bits = b_.i32(0);
        for (int i = 0; i < each; ++i) {
          Val at = b_.add(w[0], i);
          Val from = b_.add(line, depth_bytes(operand, b_.add(depth, at)));
          Val element = gpu::load_element(b_, from, element_bytes_, b_.test(IntTest::Ult, at, left));
          bits = b_.op(IntOp::Or, bits, b_.op(IntOp::Shl, element, 8 * element_bytes_ * i));
        }
        gpu::store_shared(b_, b_.add(shared, place(r[0], b_.mul(w[0], element_bytes_))), bits, 4);
        return std::vector<Val>{b_.add(w[0], each)};
      };
      const auto more = [&](std::span<const Val> w) {
        b_.inline_asm(".pragma \"nounroll\";", "", {}, {});
        return b_.test(IntTest::Ult, w[0], line_elements_);
      };
      b_.loop("turn.words", first, more, word);
      return std::vector<Val>{b_.add(r[0], kWarpgroup)};
    };
    b_.loop(
        "turn.rows", first_row, [&](std::span<const Val> r) { return b_.test(IntTest::Ult, r[0], operand.rows); }, row);
  }

  /// Copies element `inner` of each of `count` swizzled lines.
  void lines(Val shared, int count, Val inner, Val inside, const std::function<Source(Val)>& source) {
    const int at_once = kWarpgroup / line_elements_;
    const bool few = (s_.producer_registers && s_.producer_registers < kFewRegisters) || sm90_gathers(c_.epilogue);
    const int in_flight = few ? 1 : kInFlight;
    const int batch = std::gcd(count / at_once, in_flight);
    const Val initial[] = {at_once == 1 ? b_.i32(0) : b_.op(IntOp::Lshr, c_.thread_in_wg, 6)};
    b_.loop(
        "lines", initial, [&](std::span<const Val> v) { return b_.test(IntTest::Ult, v[0], count); },
        [&](std::span<const Val> v) {
          std::vector<Val> values;
          for (int i = 0; i < batch; ++i) {
            const Source from = source(b_.add(v[0], i * at_once));
            values.push_back(gpu::load_element(b_, from.address, element_bytes_, b_.both(inside, from.inside)));
          }
          for (int i = 0; i < batch; ++i) {
            Val to = b_.add(shared, place(b_.add(v[0], i * at_once), b_.mul(inner, element_bytes_)));
            gpu::store_shared(b_, to, values[static_cast<size_t>(i)], element_bytes_);
          }
          return std::vector<Val>{b_.add(v[0], batch * at_once)};
        });
  }

  /// Where byte `byte` of line `line` lies: chunks of 16 bytes are swizzled.
  Val place(Val line, Val byte) {
    Val chunk = b_.op(IntOp::Xor, b_.op(IntOp::Lshr, byte, 4), b_.op(IntOp::And, line, 7));
    Val within = b_.add(b_.op(IntOp::Shl, chunk, 4), b_.op(IntOp::And, byte, 15));
    return b_.add(b_.mul(line, kRowBytes), within);
  }

  /// The row that lies at shared row `row` of a segment in the permuted order.
  Val memory_row(Val row, int width) {
    if (width == 2) return row;
    const int group = 4 * width;
    Val inside = b_.sub(row, b_.mul(b_.op(IntOp::Udiv, row, group), group));
    Val quad = b_.op(IntOp::And, b_.op(IntOp::Lshr, inside, 1), 3);
    Val result = b_.add(b_.sub(row, inside), b_.mul(quad, width));
    return b_.add(result, b_.add(b_.mul(b_.op(IntOp::Lshr, inside, 3), 2), b_.op(IntOp::And, inside, 1)));
  }

  /// The address of the operand's element 0 in the tile's batch.
  Val batch_base(const Operand& operand) {
    const int param = operand.what.param;
    Val base = c_.arguments.pointer(param);
    const std::vector<Val> digits = sm90_batch_digits(c_, operand.what, operand.batch);
    for (size_t i = 0; i < digits.size(); ++i) {
      const int axis = operand.what.batch_axes[digits.size() - 1 - i];
      Val step = b_.mul(c_.arguments.stride(param, axis), element_bytes_);
      base = b_.add(base, b_.mul(b_.convert(digits[i], Ty::I64), step));
    }
    return base;
  }

  /// Bytes from there to row number `row`, along the operand's outer axes, and whether it is one.
  Source outer(const Operand& operand, Val row) {
    Val inside = b_.test(IntTest::Ult, row, operand.extent);
    Val number = b_.add(b_.convert(row, Ty::I64), operand.offset);
    const GemmOperand& what = operand.what;
    if (!what.gathered()) return {bytes_of(what.param, what.outer_axes, number, element_bytes_), inside};
    const std::vector<Param>& params = c_.epilogue.program.params;
    const DType dtype = params[static_cast<size_t>(what.index_param)].dtype;
    const int bytes = info(dtype).bits / 8;
    Val from =
        b_.add(c_.arguments.pointer(what.index_param), bytes_of(what.index_param, what.index_axes, number, bytes));
    Val place = whole_number(gpu::load_element(b_, from, bytes, inside), dtype);
    // A negative index is a great one here.
    const Dim& extent = params[static_cast<size_t>(what.param)].dims[static_cast<size_t>(what.outer_axes[0])].extent;
    inside = b_.both(inside, b_.test(IntTest::Ult, place, c_.arguments.extent(extent)));
    return {bytes_of(what.param, what.outer_axes, place, element_bytes_), inside};
  }
  /// I64, of stored bits.
  Val whole_number(Val bits, DType dtype) {
    if (info(dtype).bits == 64) return bits;
    if (dtype == DType::U8) return b_.convert(bits, Ty::I64);
    const int64_t sign = int64_t{1} << (info(dtype).bits - 1);
    return b_.add(b_.op(IntOp::Xor, b_.convert(bits, Ty::I64), sign), -sign);
  }
  Val depth_bytes(const Operand& operand, Val at) {
    std::vector<int> axes = operand.what.outer_depth_axes;
    axes.push_back(operand.what.depth_axis);
    return bytes_of(operand.what.param, axes, b_.convert(at, Ty::I64), element_bytes_);
  }

  /// Bytes to a number in mixed radix along some axes, outermost first.
  Val bytes_of(int param, const std::vector<int>& axes, Val number, int bytes) {
    Val rest = number, index = b_.i64(0);
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
    return b_.mul(index, bytes);
  }

  Sm90Context& c_;
  NvptxBuilder& b_;
  const Sm90Schedule& s_;
  const int element_bytes_ = c_.plan.element_bytes(), line_elements_ = c_.plan.tile_k();
};

}  // namespace

void emit_sm90_loading_producer(Sm90Context& context) { LoadingProducer(context).emit(); }

}  // namespace coda
