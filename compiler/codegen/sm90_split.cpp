#include "compiler/codegen/sm90_split.h"

#include <algorithm>

#include "compiler/codegen/nvptx_ops.h"
#include "compiler/codegen/sm90_stat_layout.h"

namespace coda {
namespace {

constexpr int kWordBytes = 4;
constexpr int kTogether = 4;  // accumulators in one access of 16 bytes
constexpr int kAtOnce = 16;   // sums in flight
constexpr int kWarpRows = 16;

}  // namespace

Sm90SplitLayout make_sm90_split_layout(const EpilogueProgram& epilogue, const Sm90Plan& plan, const Dim& rows,
                                       KernelImage& image) {
  Sm90SplitLayout layout;
  const Sm90Schedule& s = plan.schedule;
  if (!s.cuts_depth()) return layout;
  const int64_t sums = int64_t{kWordBytes} * kWarpgroup * s.accumulators() * s.sharers();
  const int64_t counters = int64_t{kWordBytes} * s.sharers();
  if (s.tail) {
    const auto fixed = [&](int64_t bytes, bool zeroed) {
      WorkspaceSpec spec;
      spec.bytes = Dim(bytes * kSm90MostTailClusters * s.cluster);
      spec.zeroed = zeroed;
      image.workspaces.push_back(spec);
      return static_cast<int>(image.workspaces.size()) - 1;
    };
    layout.sums = fixed(2 * sums, false);
    layout.counters = fixed(counters, true);
    return layout;
  }
  WorkspaceSpec spec;
  spec.rows = rows;
  spec.tile_rows = s.tile_m * s.cluster;
  int least = s.tile_n;
  for (const Sm90RegionPlan& region : plan.regions) least = std::min(least, region.step);
  spec.tile_columns = least;
  // At least the column tiles of all regions.
  spec.columns = Dim(0);
  for (const Region& region : epilogue.regions) spec.columns = spec.columns + region.extent + Dim(least);
  const auto add = [&](int64_t bytes_of_cta, bool zeroed) {
    spec.tile_bytes = bytes_of_cta * s.cluster;
    spec.zeroed = zeroed;
    image.workspaces.push_back(spec);
    return static_cast<int>(image.workspaces.size()) - 1;
  };
  layout.sums = add(sums * s.split, false);
  layout.counters = add(counters, true);
  return layout;
}

Val Sm90Split::place(Val number) {
  const Sm90Schedule& s = c_.plan.schedule;
  number = b_.add(b_.mul(number, s.sharers()), c_.share);
  Val start = b_.mul(b_.convert(number, Ty::I64), int64_t{kWordBytes} * kWarpgroup * s.accumulators());
  Val mine = b_.convert(b_.mul(c_.thread_in_wg, kTogether * kWordBytes), Ty::I64);
  return b_.add(c_.arguments.workspace(layout_.sums), b_.add(start, mine));
}

Val Sm90Split::owns_rows() {
  const Sm90Schedule& s = c_.plan.schedule;
  if (s.tile_m >= kSm90InstructionRows) return {};
  return b_.test(IntTest::Ult, c_.thread_in_wg, s.tile_m / kWarpRows * 32);
}

void Sm90Split::join(const Sm90Tile& tile, const Sm90Mainloop::Flight& flight,
                     const std::function<void(const Sm90Mainloop::Flight&)>& body) {
  const Sm90Schedule& s = c_.plan.schedule;
  if (!s.cuts_depth()) return body(flight);
  if (!tile.is_part) return meet(tile, flight, body);
  Block part = b_.block("part"), all = b_.block("all"), after = b_.block("depth.end");
  b_.branch(tile.is_part, part, all);
  b_.enter(all);
  body(flight);
  b_.jump(after);
  b_.enter(part);
  meet(tile, flight, body);
  b_.jump(after);
  b_.enter(after);
}

void Sm90Split::meet(const Sm90Tile& tile, const Sm90Mainloop::Flight& flight,
                     const std::function<void(const Sm90Mainloop::Flight&)>& body) {
  const Sm90Schedule& s = c_.plan.schedule;
  const int count = s.accumulators();
  const std::vector<Val> own = mainloop_.land(flight);
  Val owns = owns_rows(), to = place(c_.tiles.own_sums(tile)), parts = c_.tiles.parts_of(tile);
  for (int i = 0; i < count; i += kTogether) {
    std::vector<Val> words;
    for (int j = 0; j < kTogether; ++j) words.push_back(b_.bits(own[static_cast<size_t>(i + j)], Ty::I32));
    gpu::Unit unit;
    unit.address = b_.add(to, kWordBytes * kWarpgroup * i);
    unit.element_bytes = kWordBytes;
    unit.slots = {0, 1, 2, 3};
    unit.predicate = owns;
    gpu::store_unit(b_, unit, words);
  }
  // As in the finish stage: one thread's release covers what the barrier puts before it.
  Val counter = b_.mul(b_.add(b_.mul(c_.tiles.counter_of(tile), s.sharers()), c_.share), kWordBytes);
  counter = b_.add(c_.arguments.workspace(layout_.counters), b_.convert(counter, Ty::I64));
  Val arrival = b_.add(scratch_, kWordBytes * kSm90PartArrival), barrier = c_.consumer_barrier();
  Val first = b_.test(IntTest::Eq, c_.thread_in_wg, 0);
  gpu::named_barrier(b_, barrier, kWarpgroup);
  b_.when(first, "part.arrive",
          [&] { gpu::store_shared(b_, arrival, gpu::atomic_increment_release(b_, counter), kWordBytes); });
  gpu::named_barrier(b_, barrier, kWarpgroup);
  Val before = gpu::load_shared(b_, arrival, kWordBytes);
  b_.when(b_.test(IntTest::Eq, b_.add(before, 1), parts), "joined", [&] {
    gpu::fence_gpu(b_);
    gpu::store_element(b_, counter, b_.i32(0), kWordBytes, first);
    std::vector<Val> initial(static_cast<size_t>(count) + 1, b_.f32(0));
    initial[0] = b_.i32(0);
    const std::vector<Val> after = b_.loop(
        "join", initial, [&](std::span<const Val> v) { return b_.test(IntTest::Ult, v[0], parts); },
        [&](std::span<const Val> v) {
          Val from = place(c_.tiles.sums_of(tile, v[0]));
          std::vector<Val> next = {b_.add(v[0], 1)};
          for (int i = 0; i < count; i += kAtOnce) {
            const int some = std::min(kAtOnce, count - i);
            const std::vector<Val> sums =
                gpu::add_released(b_, b_.add(from, kWordBytes * kWarpgroup * i), kWarpgroup,
                                  v.subspan(static_cast<size_t>(i) + 1, static_cast<size_t>(some)), owns);
            next.insert(next.end(), sums.begin(), sums.end());
          }
          return next;
        });
    Sm90Mainloop::Flight sums;
    sums.accumulators.assign(after.begin() + 1, after.end());
    sums.landed = true;
    sums.rare = s.tail != 0;
    body(sums);
  });
}

}  // namespace coda
