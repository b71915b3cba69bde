#include "compiler/codegen/sm90_kernel.h"

#include "compiler/codegen/nvptx_numbers.h"
#include "compiler/codegen/nvptx_ops.h"
#include "compiler/codegen/sm90_epilogue.h"
#include "compiler/codegen/sm90_mainloop.h"
#include "compiler/codegen/sm90_plan.h"
#include "compiler/codegen/sm90_producer.h"

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
  c.tiles.prepare(c.rows);
  Val blocks = b.ceil_div(c.arguments.extent32(c.epilogue.depth), kSm90TileK);
  c.depth_blocks = b.op(IntOp::Umax, blocks, 1);
}

void emit_producer(Sm90Context& c) {
  NvptxBuilder& b = c.b;
  if (c.plan.schedule.producer_registers) gpu::set_registers(b, c.plan.schedule.producer_registers, false);
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

std::string emit_consumer(Sm90Context& c, const Sm90StatLayout& layout) {
  NvptxBuilder& b = c.b;
  if (c.plan.schedule.consumer_registers) gpu::set_registers(b, c.plan.schedule.consumer_registers, true);
  Val consumer = b.add(c.warpgroup, -1);
  Sm90Mainloop mainloop(c);
  mainloop.prepare(consumer);
  NvptxNumbers numbers(b);
  Val scratch = b.add(b.shared_int(b.shared_base()), c.ring.scratch_offset());
  scratch = b.add(scratch, b.mul(consumer, sm90_scratch_bytes(c.epilogue, c.plan.schedule.tile_n)));
  Sm90Epilogue epilogue(c, numbers, mainloop, layout, scratch);
  const Sm90Turn start = c.ring.consumer_start();
  const Val initial[] = {c.tiles.first(), start.stage, start.parity};
  b.loop(
      "consume", initial, [&](std::span<const Val> v) { return b.test(IntTest::Ult, v[0], c.tiles.total()); },
      [&](std::span<const Val> v) {
        const Sm90Tile tile = c.tiles.at(v[0]);
        const Sm90Mainloop::Flight flight = mainloop.run({v[1], v[2]});
        epilogue.emit(tile, flight, consumer);
        return std::vector<Val>{b.add(v[0], c.tiles.step()), flight.turn.stage, flight.turn.parity};
      });
  return epilogue.failure();
}

}  // namespace

std::string emit_sm90_kernel(NvptxBuilder& b, const EpilogueProgram& epilogue, const Sm90Plan& plan,
                             KernelImage& image) {
  b.begin_kernel(
      {image.entry, static_cast<int>(image.tensor_maps.size()), plan.schedule.threads(), plan.schedule.cluster});
  Sm90Arguments arguments(b, image);
  Sm90Ring ring(b, plan.schedule);
  Sm90Tiles tiles(b, arguments, plan, epilogue);
  Sm90Context c{b, arguments, image, epilogue, plan, ring, tiles, {}, {}, {}, {}, sm90_rows(epilogue)};
  const Sm90StatLayout layout = make_sm90_stat_layout(epilogue, plan, c.rows, image);
  emit_setup(c);
  Block producer = b.block("producer"), consumer = b.block("consumer"), end = b.block("end");
  b.branch(b.test(IntTest::Eq, c.warpgroup, 0), producer, consumer);
  b.enter(producer);
  emit_producer(c);
  b.jump(end);
  b.enter(consumer);
  const std::string failure = emit_consumer(c, layout);
  b.jump(end);
  b.enter(end);
  // A CTA must not leave while its peer may still arrive at its barriers or copy into its memory.
  if (plan.schedule.cluster > 1) gpu::cluster_barrier(b);
  b.ret();
  b.end_kernel(static_cast<int>(image.words.size()));
  return failure;
}

}  // namespace coda
