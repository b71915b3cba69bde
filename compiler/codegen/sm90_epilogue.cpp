#include "compiler/codegen/sm90_epilogue.h"

#include <algorithm>
#include <numeric>

#include "compiler/codegen/sm90_exchange.h"
#include "compiler/codegen/sm90_hooks.h"
#include "compiler/codegen/sm90_statistics.h"
#include "compiler/codegen/sm90_stores.h"

namespace coda {
namespace {

constexpr int kRoomForVersions = 128;  // accumulators
/// Where more ways part, ptxas brings what some of them begin with in front of their waits.
constexpr size_t kMostCodesInFlight = 3;

/// Walks one region's slices.
class SliceWalk {
 public:
  SliceWalk(Sm90Region& region, std::span<const Val> accumulators, Sm90Statistics& statistics)
      : r_(region),
        accumulators_(accumulators),
        loads_(region),
        hooks_(region, loads_, accumulators),
        statistics_(statistics) {}

  void emit() {
    const Sm90RegionPlan& plan = r_.plan;
    statistics_.single_terms(accumulators_);
    // Values that depend on columns are shared within a granule and forgotten after it.
    const int span = static_cast<int>(std::lcm<int64_t>(r_.region.granule, plan.group()));
    const int end = r_.fragment.is_one_tile() ? static_cast<int>(*r_.region.extent.constant()) : plan.step;
    for (int start = 0; start < end; start += span) {
      EpilogueEvaluator evaluator(r_.context.epilogue, r_.fragment.space(), r_.numbers.emitter(), hooks_);
      hooks_.set_evaluator(&evaluator);
      loads_.next_span();
      std::vector<int> waiting;
      for (int column = start; column < std::min(start + span, end); column += plan.group()) {
        waiting.push_back(column);
      }
      while (!waiting.empty()) {
        const int column = waiting.front();
        waiting.erase(waiting.begin());
        hooks_.touched.clear();
        for (int h = 0; h < r_.context.plan.row_slots(); ++h) slice(evaluator, column, h);
        statistics_.end_group(column);
        // Partners share what was read for both: the one of this group comes next.
        std::stable_partition(waiting.begin(), waiting.end(), [&](int other) {
          return hooks_.touched.lower_bound(other) != hooks_.touched.lower_bound(other + plan.group());
        });
      }
      if (!evaluator.failure().empty()) r_.fail(evaluator.failure());
    }
  }

 private:
  void slice(EpilogueEvaluator& evaluator, int column, int h) {
    r_.places.push_back(r_.context.b.mark());
    r_.slice = static_cast<int>(r_.places.size()) - 1;
    Env rows;
    evaluator.bind_rows(r_.fragment.row(h), rows);
    for (const Store& store : r_.context.epilogue.stores) {
      if (store.region == r_.index) emit_store(evaluator, store, rows, column, h);
    }
    statistics_.slice(evaluator, rows, column, h);
  }

  void emit_store(EpilogueEvaluator& evaluator, const Store& store, const Env& rows, int column, int h) {
    const Program& program = r_.context.epilogue.program;
    const DType dtype = program.params[static_cast<size_t>(store.param)].dtype;
    std::vector<Sm90Element> elements;
    for (int i = 0; i < r_.plan.width; ++i) {
      r_.slot = column + i;
      Env env = rows;
      Sm90Element element{r_.slot, {}, {}, {}};
      if (evaluator.bind_columns(store.columns, r_.fragment.column(r_.slot), env, element.predicate) == Answer::No) {
        continue;
      }
      for (const AffineMap& map : store.index) element.index.push_back(evaluator.apply(map, env));
      const Val value = evaluator.evaluate(store.value, env, element.predicate);
      const NumClass own = program.graph[store.value].num_class;
      // Rounding to a real type is the encoding's.
      element.value = info(dtype).num_class == NumClass::Real ? evaluator.convert(value, own, NumClass::Real)
                                                              : evaluator.to_dtype(value, own, dtype);
      elements.push_back(std::move(element));
    }
    store_sm90_elements(r_, store.param, h, elements, evaluator);
  }

  Sm90Region& r_;
  std::span<const Val> accumulators_;
  Sm90Loads loads_;
  Sm90Hooks hooks_;
  Sm90Statistics& statistics_;
};

}  // namespace

void Sm90Epilogue::emit(const Sm90Tile& tile, const Sm90Mainloop::Flight& flight) {
  Sm90Mainloop::Flight arriving = flight;
  if (c_.plan.landed || c_.plan.codes() > kMostCodesInFlight) {
    arriving.accumulators = mainloop_.land(flight);
    arriving.landed = true;
  }
  c_.for_code(tile.region, [&](int r) {
    std::vector<Sm90Arguments::Twin> twins;
    for (size_t twin = static_cast<size_t>(r) + 1; twin < c_.plan.likeness.size(); ++twin) {
      const Sm90Likeness& likeness = c_.plan.likeness[twin];
      if (likeness.leader == r)
        twins.push_back({c_.b.test(IntTest::Eq, tile.region, static_cast<int64_t>(twin)), &likeness});
    }
    c_.arguments.serve(std::move(twins));
    emit_region(r, tile, arriving);
    c_.arguments.serve({});
  });
  finish_.emit(tile);
}

void Sm90Epilogue::emit_region(int index, const Sm90Tile& tile, const Sm90Mainloop::Flight& flight) {
  const auto& stores = c_.epilogue.stores;
  const auto outputs = std::count_if(stores.begin(), stores.end(), [&](const Store& s) { return s.region == index; });
  // Of a tile of fewer rows than an instruction's, some never count. And beside very many accumulators the assembler
  // has no registers for two versions of several outputs.
  const bool is_part = c_.plan.schedule.tile_m < kSm90InstructionRows;
  const bool exchanged = c_.plan.regions[static_cast<size_t>(index)].exchanged;
  if (is_part || flight.rare || (c_.plan.accumulators() > kRoomForVersions && (outputs > 1 || exchanged))) {
    emit_version(index, tile, flight, false);
    return;
  }
  NvptxBuilder& b = c_.b;
  Block start = b.here(), whole = b.block("whole"), ragged = b.block("ragged"), join = b.block("tile.end");
  b.enter(whole);
  const uint64_t assumed = emit_version(index, tile, flight, true);
  b.jump(join);
  b.enter(ragged);
  emit_version(index, tile, flight, false);
  b.jump(join);
  b.enter(start);
  b.branch(b.both(is_whole(index, tile), c_.arguments.conditions_hold(assumed)), whole, ragged);
  b.enter(join);
}

Val Sm90Epilogue::is_whole(int index, const Sm90Tile& tile) {
  NvptxBuilder& b = c_.b;
  const int height = c_.plan.schedule.rows_per_consumer();
  Val rows_end = b.add(b.add(tile.row, b.mul(c_.share, height)), height);
  Val columns_end = b.add(tile.column, c_.plan.regions[static_cast<size_t>(index)].step);
  Val columns = c_.arguments.extent32(c_.epilogue.regions[static_cast<size_t>(index)].extent);
  return b.both(b.test(IntTest::Ule, rows_end, tile.row_end), b.test(IntTest::Ule, columns_end, columns));
}

uint64_t Sm90Epilogue::emit_version(int index, const Sm90Tile& tile, const Sm90Mainloop::Flight& flight, bool whole) {
  Sm90Region region(c_, numbers_, index, tile, whole);
  // Early loads fly while the last multiplications finish.
  region.places.push_back(c_.b.mark());
  std::vector<Val> accumulators = mainloop_.land(flight);
  if (region.plan.exchanged) {
    exchange_sm90_quads(c_.b, c_.plan, region.plan, c_.b.op(IntOp::And, c_.thread, 31), accumulators);
  }
  Sm90Statistics statistics(region, layout_, c_.b.add(scratch_, kSm90ArrivalBytes));
  SliceWalk(region, accumulators, statistics).emit();
  statistics.flush();
  for (const NvptxBuilder::Place& place : region.places) c_.b.unmark(place);
  if (failure_.empty()) failure_ = region.failure;
  return region.assumed;
}

}  // namespace coda
