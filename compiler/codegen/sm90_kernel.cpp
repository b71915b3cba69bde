#include "compiler/codegen/sm90_kernel.h"

#include <algorithm>

#include "compiler/codegen/nvptx_numbers.h"
#include "compiler/codegen/nvptx_ops.h"
#include "compiler/codegen/sm90_epilogue.h"
#include "compiler/codegen/sm90_mainloop.h"
#include "compiler/codegen/sm90_plan.h"
#include "compiler/codegen/sm90_producer.h"
#include "compiler/codegen/sm90_split.h"

namespace coda {
namespace {

void emit_setup(Sm90Context& c) {
  NvptxBuilder& b = c.b;
  c.thread = gpu::special_register(b, "tid.x");
  c.warpgroup = gpu::broadcast_lane0(b, b.op(IntOp::Lshr, c.thread, 7));
  c.thread_in_wg = b.op(IntOp::And, c.thread, kWarpgroup - 1);
  b.when(b.test(IntTest::Eq, c.thread, 0), "init", [&] {
    for (size_t i = 0; i < c.image.tensor_maps.size(); ++i)
      gpu::prefetch_tensor_map(b, b.tensor_map(static_cast<int>(i)));
    c.ring.init();
  });
  if (c.plan.schedule.cluster > 1) {
    gpu::cluster_barrier(b);
  } else {
    gpu::cta_barrier(b);
  }
  if (c.plan.schedule.dependent == 1) gpu::allow_next_kernel(b);
  for (const GemmTerm& term : c.epilogue.terms()) {
    Val blocks = b.op(IntOp::Umax, b.ceil_div(c.arguments.extent32(term.depth), c.plan.tile_k()), 1);
    c.depth_blocks = c.term_blocks.empty() ? blocks : b.add(c.depth_blocks, blocks);
    c.term_blocks.push_back(blocks);
  }
  c.tiles.prepare(c.rows, c.depth_blocks);
}

void emit_producer(Sm90Context& c) {
  NvptxBuilder& b = c.b;
  if (c.plan.schedule.producer_registers) gpu::set_registers(b, c.plan.schedule.producer_registers, false);
  if (sm90_gathers(c.epilogue)) return emit_sm90_loading_producer(c);
  Block by_map = b.block("by_map"), by_load = b.block("by_load"), done = b.block("produced");
  b.branch(sm90_tensor_maps_usable(c), by_map, by_load);
  b.enter(by_map);
  b.when(b.test(IntTest::Eq, c.thread_in_wg, 0), "copy", [&] { emit_sm90_tensor_producer(c); });
  b.jump(done);
  b.enter(by_load);
  emit_sm90_loading_producer(c);
  b.jump(done);
  b.enter(done);
}

bool stores_only_narrow_reals(const Program& program) {
  return std::none_of(program.params.begin(), program.params.end(), [](const Param& p) {
    const bool is_output = p.role == Param::Role::Out || p.role == Param::Role::InOut;
    return is_output && (info(p.dtype).num_class != NumClass::Real || info(p.dtype).bits > 16);
  });
}

/// Consumers that take tiles in turn multiply one after the other: in the order in which the producer fills the ring,
/// and never waiting for a stage that is more than one round ahead, which its barrier could not tell from this round.
class Turns {
 public:
  explicit Turns(Sm90Context& context) : c_(context), b_(context.b), alternate_(context.plan.schedule.alternate) {}

  Val first_tile() {
    return alternate_ ? b_.add(c_.tiles.first(), b_.mul(c_.consumer, c_.tiles.step())) : c_.tiles.first();
  }
  Val tile_step() { return alternate_ ? b_.mul(c_.tiles.step(), c_.plan.schedule.consumers) : c_.tiles.step(); }
  Sm90Turn start() {
    const Sm90Turn start = c_.ring.consumer_start();
    return alternate_ ? c_.ring.after(start, b_.mul(c_.consumer, c_.depth_blocks)) : start;
  }
  /// Past the stages of the tiles in between.
  Sm90Turn next(const Sm90Turn& turn) {
    return alternate_ ? c_.ring.after(turn, b_.mul(c_.depth_blocks, c_.plan.schedule.consumers - 1)) : turn;
  }
  /// Before a tile's first multiplication: the tile before it has its last one under way.
  void await(Val tile) {
    if (!alternate_) return;
    b_.when(b_.test(IntTest::Ne, tile, c_.tiles.first()), "turn",
            [&] { gpu::named_barrier(b_, b_.add(c_.consumer, Sm90Context::kFirstTurnBarrier), 2 * kWarpgroup); });
  }
  void pass_on(Val tile) {
    if (!alternate_) return;
    Val next = b_.sub(b_.i32(Sm90Context::kFirstTurnBarrier + 1), c_.consumer);
    b_.when(b_.test(IntTest::Ult, b_.add(tile, c_.tiles.step()), c_.tiles.total()), "pass",
            [&] { gpu::named_barrier_arrive(b_, next, 2 * kWarpgroup); });
  }

 private:
  Sm90Context& c_;
  NvptxBuilder& b_;
  bool alternate_;
};

std::string emit_consumer(Sm90Context& c, const Sm90StatLayout& layout, const Sm90SplitLayout& parts) {
  NvptxBuilder& b = c.b;
  const Sm90Schedule& schedule = c.plan.schedule;
  if (schedule.consumer_registers) gpu::set_registers(b, schedule.consumer_registers, true);
  if (schedule.dependent) gpu::await_earlier_kernels(b);
  c.consumer = b.add(c.warpgroup, -1);
  c.share = schedule.sharers() > 1 ? c.consumer : b.i32(0);
  NvptxNumbers numbers(b, c.plan.approximate || stores_only_narrow_reals(c.epilogue.program));
  Sm90Mainloop mainloop(c);
  mainloop.prepare(numbers);
  Val scratch = b.add(b.shared_int(b.shared_base()), c.ring.scratch_offset());
  scratch = b.add(scratch, b.mul(c.consumer, sm90_scratch_bytes(c.epilogue, schedule)));
  Sm90Epilogue epilogue(c, numbers, mainloop, layout, scratch);
  Sm90Split split(c, mainloop, parts, scratch);
  Turns turns(c);
  const Sm90Turn start = turns.start();
  const Val initial[] = {turns.first_tile(), start.stage, start.parity};
  b.loop(
      "consume", initial, [&](std::span<const Val> v) { return b.test(IntTest::Ult, v[0], c.tiles.total()); },
      [&](std::span<const Val> v) {
        const Sm90Tile tile = c.tiles.at(v[0]);
        turns.await(v[0]);
        const Sm90Mainloop::Flight flight = mainloop.run({v[1], v[2]}, tile.blocks);
        turns.pass_on(v[0]);
        split.join(tile, flight, [&](const Sm90Mainloop::Flight& sums) { epilogue.emit(tile, sums); });
        const Sm90Turn next = turns.next(flight.turn);
        return std::vector<Val>{b.add(v[0], turns.tile_step()), next.stage, next.parity};
      });
  epilogue.finish_nothing();
  return mainloop.failure().empty() ? epilogue.failure() : mainloop.failure();
}

}  // namespace

std::string emit_sm90_kernel(NvptxBuilder& b, const EpilogueProgram& epilogue, const Sm90Plan& plan,
                             KernelImage& image) {
  b.begin_kernel(
      {image.entry, static_cast<int>(image.tensor_maps.size()), plan.schedule.threads(), plan.schedule.cluster});
  Sm90Arguments arguments(b, image);
  Sm90Ring ring(b, plan.schedule);
  Sm90Tiles tiles(b, arguments, plan, epilogue);
  Sm90Context c{b, arguments, image, epilogue, plan, ring, tiles, {}, {}, {}, {}, {}, sm90_rows(epilogue), {}, {}};
  const Sm90StatLayout layout = make_sm90_stat_layout(epilogue, plan, c.rows, image);
  const Sm90SplitLayout parts = make_sm90_split_layout(epilogue, plan, c.rows, image);
  emit_setup(c);
  Block producer = b.block("producer"), consumer = b.block("consumer"), end = b.block("end");
  b.branch(b.test(IntTest::Eq, c.warpgroup, 0), producer, consumer);
  b.enter(producer);
  emit_producer(c);
  b.jump(end);
  b.enter(consumer);
  const std::string failure = emit_consumer(c, layout, parts);
  b.jump(end);
  b.enter(end);
  // A CTA must not leave while its peer may still arrive at its barriers or copy into its memory.
  if (plan.schedule.cluster > 1) gpu::cluster_barrier(b);
  b.ret();
  b.end_kernel(static_cast<int>(image.words.size()));
  return failure;
}

}  // namespace coda
