#include "compiler/codegen/sm90_statistics.h"

#include "compiler/codegen/nvptx_ops.h"
#include "compiler/codegen/sm90_hooks.h"

namespace coda {
namespace {

constexpr int kWordBytes = 4;
constexpr int kWarps = 4;
constexpr int kNowhere = -(1 << 16);  // of no thread's column slots

}  // namespace

Val sm90_panel(Sm90Context& context, const Sm90Tile& tile) {
  return context.b.add(context.b.mul(tile.panel, context.plan.schedule.sharers()), context.share);
}

Val sm90_panel_counts(Sm90Context& context, const Sm90Tile& tile) {
  NvptxBuilder& b = context.b;
  if (context.epilogue.batch > 0) return b.i1(true);
  Val first = b.add(tile.row, b.mul(context.share, context.plan.schedule.rows_per_consumer()));
  return b.test(IntTest::Ult, first, tile.row_end);
}

Val sm90_panel_count(Sm90Context& context) {
  NvptxBuilder& b = context.b;
  const Sm90Schedule& s = context.plan.schedule;
  if (context.epilogue.batch > 0) return b.mul(context.tiles.group_panels(), s.sharers());
  return b.ceil_div(context.arguments.extent32(context.rows), s.rows_per_consumer());
}

Sm90Statistics::Sm90Statistics(Sm90Region& region, const Sm90StatLayout& layout, Val scratch)
    : r_(region), b_(region.context.b), e_(region.numbers.emitter()), scratch_(scratch) {
  const auto& statistics = region.context.epilogue.statistics;
  int scratch_end = 0;
  for (size_t s = 0; s < statistics.size(); ++s) {
    for (size_t p = 0; p < statistics[s].parts.size(); ++p) {
      const Statistic::Part& part = statistics[s].parts[p];
      if (part.region != region.index) continue;
      Active active{&statistics[s],
                    &part,
                    layout.partials[s][p],
                    scratch_end,
                    {},
                    {},
                    {},
                    sm90_single_term(region.context.epilogue, statistics[s], part)};
      scratch_end += sm90_exchange_bytes(statistics[s], region.context.plan.schedule.tile_n);
      const State start = identity(*statistics[s].reduction);
      active.rows.assign(static_cast<size_t>(region.context.plan.row_slots()), start);
      active.slots.assign(static_cast<size_t>(region.plan.width), start);
      active.all = start;
      active_.push_back(std::move(active));
    }
  }
}

Sm90Statistics::State Sm90Statistics::identity(const Reduction& reduction) {
  State state;
  for (int w = 0; w < reduction.state_size; ++w) state.word[w] = e_.real(reduction.identity[w]);
  return state;
}

void Sm90Statistics::lift(const Reduction& reduction, const LiftedValue& x, Val predicate, State& state) {
  State with = state;
  reduction.emit_lift(e_, x, with.word);
  for (int w = 0; w < reduction.state_size; ++w) state.word[w] = e_.select(predicate, with.word[w], state.word[w]);
}

void Sm90Statistics::slice(EpilogueEvaluator& evaluator, const Env& rows, int column, int h) {
  for (Active& active : active_) {
    if (active.single && active.single->direct) continue;
    const Reduction& reduction = *active.statistic->reduction;
    std::vector<Val> many;  // elements of one state
    for (int i = 0; i < r_.plan.width; ++i) {
      r_.slot = column + i;
      Env env = rows;
      Val predicate;
      if (evaluator.bind_columns(active.part->columns, r_.fragment.column(r_.slot), env, predicate) == Answer::No) {
        continue;
      }
      const NodeId body = active.single ? active.single->value : active.part->body;
      const LiftedValue x = evaluator.evaluate_lifted(body, env, predicate);
      Val inside = r_.column_inside(r_.slot);
      if (predicate) inside = b_.both(inside, predicate);
      const StatScope scope = active.statistic->scope;
      // A row's state is not written where the row is outside; the others mix rows.
      if (scope != StatScope::Row) inside = b_.both(inside, r_.row_inside[static_cast<size_t>(h)]);
      if (reduction.emit_lift_many && scope != StatScope::Column) {
        many.push_back(e_.select(inside, x.word[0], e_.real(reduction.neutral)));
        continue;
      }
      State& state = scope == StatScope::Row      ? active.rows[static_cast<size_t>(h)]
                     : scope == StatScope::Column ? active.slots[static_cast<size_t>(i)]
                                                  : active.all;
      if (active.single) {
        const Val hit = evaluator.evaluate(active.single->condition, env, predicate);
        state.word[0] = e_.select(b_.both(inside, hit), x.word[0], state.word[0]);
      } else {
        lift(reduction, x, inside, state);
      }
    }
    if (many.empty()) continue;
    State& state = active.statistic->scope == StatScope::Row ? active.rows[static_cast<size_t>(h)] : active.all;
    reduction.emit_lift_many(e_, many, state.word);
  }
}

void Sm90Statistics::single_terms(std::span<const Val> accumulators) {
  Val width = b_.i64(r_.plan.step), first = b_.convert(r_.tile.column, Ty::I64);
  for (const Active& active : active_) {
    if (!active.single || !active.single->direct) continue;
    Sm90Loads loads(r_);
    Sm90Hooks hooks(r_, loads, accumulators);
    EpilogueEvaluator evaluator(r_.context.epilogue, r_.fragment.space(), e_, hooks);
    hooks.set_evaluator(&evaluator);
    std::vector<Val> wanted;  // I32, of each row slot, counted from the tile's first column
    Val any = b_.i1(false);
    for (int h = 0; h < r_.context.plan.row_slots(); ++h) {
      Env rows;
      evaluator.bind_rows(r_.fragment.row(h), rows);
      Val column = b_.sub(evaluator.evaluate(active.single->wanted, rows), first);
      Val inside = b_.test(IntTest::Ult, column, width);
      wanted.push_back(b_.select(inside, b_.convert(column, Ty::I32), b_.i32(kNowhere)));
      any = b_.op(IntOp::Or, any, inside);
    }
    if (!evaluator.failure().empty()) r_.fail(evaluator.failure());
    b_.when(any, "single", [&] { write_single(active, wanted, accumulators); });
  }
}

/// Where some row's column lies in the tile: all of them are looked at, for registers have no numbers at run time.
void Sm90Statistics::write_single(const Active& active, std::span<const Val> wanted,
                                  std::span<const Val> accumulators) {
  Sm90Context& c = r_.context;
  Sm90Loads loads(r_);
  Sm90Hooks hooks(r_, loads, accumulators);
  r_.rare = true;
  for (size_t h = 0; h < wanted.size(); ++h) {
    EpilogueEvaluator evaluator(c.epilogue, r_.fragment.space(), e_, hooks);
    hooks.set_evaluator(&evaluator);
    Env rows;
    evaluator.bind_rows(r_.fragment.row(static_cast<int>(h)), rows);
    Val slot = b_.sub(wanted[h], b_.mul(r_.quad, r_.plan.width));
    Val value = e_.real(0), found = b_.i1(false);
    for (int i = 0; i < r_.plan.slots(); ++i) {
      r_.slot = column_slot(r_.plan, i);
      Env env = rows;
      Val predicate;
      if (evaluator.bind_columns(active.part->columns, r_.fragment.column(r_.slot), env, predicate) == Answer::No) {
        continue;
      }
      Val here = b_.both(b_.test(IntTest::Eq, slot, r_.slot), r_.column_inside(r_.slot));
      if (predicate) here = b_.both(here, predicate);
      value = e_.select(here, evaluator.evaluate_real(active.single->value, env, predicate), value);
      found = b_.op(IntOp::Or, found, here);
    }
    if (!evaluator.failure().empty()) r_.fail(evaluator.failure());
    Val at = b_.add(c.arguments.workspace(active.buffer), b_.mul(r_.row[h], kWordBytes));
    gpu::store_element(b_, at, b_.bits(value, Ty::I32), kWordBytes, b_.both(found, r_.row_inside[h]));
  }
  r_.rare = false;
}

Val Sm90Statistics::scratch_at(const Active& active, Val warp, Val column, int word) {
  const Reduction& reduction = *active.statistic->reduction;
  Val index = b_.add(b_.mul(b_.add(b_.mul(warp, reduction.state_size), word), r_.plan.step), column);
  return b_.add(scratch_, b_.add(b_.mul(index, kWordBytes), active.scratch));
}

void Sm90Statistics::end_group(int column) {
  Val warp = b_.op(IntOp::Lshr, r_.context.thread_in_wg, 5);
  Val leads = b_.test(IntTest::Ult, b_.op(IntOp::And, r_.context.thread, 31), 4);
  for (Active& active : active_) {
    if (active.statistic->scope != StatScope::Column) continue;
    const Reduction& reduction = *active.statistic->reduction;
    for (int i = 0; i < r_.plan.width; ++i) {
      State& state = active.slots[static_cast<size_t>(i)];
      for (int mask : {4, 8, 16}) combine_lanes(b_, e_, reduction, mask, state.word);
      Val at = b_.add(b_.mul(r_.quad, r_.plan.width), column + i);
      for (int w = 0; w < reduction.state_size; ++w) {
        gpu::store_shared_where(b_, scratch_at(active, warp, at, w), b_.bits(state.word[w], Ty::I32), leads);
      }
      state = identity(reduction);
    }
  }
}

void Sm90Statistics::flush() {
  for (const Active& active : active_) {
    if (active.single && active.single->direct) continue;
    switch (active.statistic->scope) {
      case StatScope::Row:
        write_row(active);
        break;
      case StatScope::Column:
        write_columns(active);
        break;
      case StatScope::All:
        write_all(active);
        break;
    }
  }
}

void Sm90Statistics::write_row(const Active& active) {
  Sm90Context& c = r_.context;
  const Reduction& reduction = *active.statistic->reduction;
  Val rows = c.arguments.extent(c.rows);
  Val tile = b_.convert(r_.tile.column_in_region, Ty::I64);
  Val leads = b_.test(IntTest::Eq, r_.quad, 0);
  for (size_t h = 0; h < active.rows.size(); ++h) {
    State state = active.rows[h];
    for (int mask : {1, 2}) combine_lanes(b_, e_, reduction, mask, state.word);
    for (int w = 0; w < reduction.state_size; ++w) {
      Val index = b_.add(b_.mul(b_.add(b_.mul(tile, reduction.state_size), w), rows), r_.row[h]);
      Val at = b_.add(c.arguments.workspace(active.buffer), b_.mul(index, kWordBytes));
      gpu::store_element(b_, at, b_.bits(state.word[w], Ty::I32), kWordBytes, b_.both(leads, r_.row_inside[h]));
    }
  }
}

void Sm90Statistics::write_columns(const Active& active) {
  Sm90Context& c = r_.context;
  const Reduction& reduction = *active.statistic->reduction;
  Val barrier = c.consumer_barrier();
  Val extent = c.arguments.extent(r_.region.extent);
  Val panel = b_.convert(sm90_panel(c, r_.tile), Ty::I64);
  Val panel_inside = sm90_panel_counts(c, r_.tile);
  gpu::named_barrier(b_, barrier, kWarpgroup);
  const Val initial[] = {c.thread_in_wg};
  b_.loop(
      "columns", initial, [&](std::span<const Val> v) { return b_.test(IntTest::Ult, v[0], r_.plan.step); },
      [&](std::span<const Val> v) {
        State total = identity(reduction);
        for (int warp = 0; warp < kWarps; ++warp) {
          State other;
          for (int w = 0; w < reduction.state_size; ++w) {
            other.word[w] = b_.bits(gpu::load_shared(b_, scratch_at(active, b_.i32(warp), v[0], w), 4), Ty::F32);
          }
          reduction.emit_combine(e_, total.word, other.word);
        }
        Val column = b_.convert(b_.add(r_.tile.column, v[0]), Ty::I64);
        Val inside = b_.both(panel_inside, b_.test(IntTest::Ult, column, extent));
        for (int w = 0; w < reduction.state_size; ++w) {
          Val index = b_.add(b_.mul(b_.add(b_.mul(panel, reduction.state_size), w), extent), column);
          Val at = b_.add(c.arguments.workspace(active.buffer), b_.mul(index, kWordBytes));
          gpu::store_element(b_, at, b_.bits(total.word[w], Ty::I32), kWordBytes, inside);
        }
        return std::vector<Val>{b_.add(v[0], kWarpgroup)};
      });
  gpu::named_barrier(b_, barrier, kWarpgroup);  // before the scratch is written again
}

void Sm90Statistics::write_all(const Active& active) {
  Sm90Context& c = r_.context;
  const Reduction& reduction = *active.statistic->reduction;
  Val barrier = c.consumer_barrier();
  State state = active.all;
  for (int mask : {1, 2, 4, 8, 16}) combine_lanes(b_, e_, reduction, mask, state.word);
  Val warp = b_.op(IntOp::Lshr, c.thread_in_wg, 5);
  Val leads = b_.test(IntTest::Eq, b_.op(IntOp::And, c.thread, 31), 0);
  const auto place = [&](Val of_warp, int w) {
    return b_.add(scratch_,
                  b_.add(b_.mul(b_.add(b_.mul(of_warp, reduction.state_size), w), kWordBytes), active.scratch));
  };
  for (int w = 0; w < reduction.state_size; ++w) {
    gpu::store_shared_where(b_, place(warp, w), b_.bits(state.word[w], Ty::I32), leads);
  }
  gpu::named_barrier(b_, barrier, kWarpgroup);
  State total = identity(reduction);
  for (int i = 0; i < kWarps; ++i) {
    State other;
    for (int w = 0; w < reduction.state_size; ++w) {
      other.word[w] = b_.bits(gpu::load_shared(b_, place(b_.i32(i), w), 4), Ty::F32);
    }
    reduction.emit_combine(e_, total.word, other.word);
  }
  Val writes = b_.both(b_.test(IntTest::Eq, c.thread_in_wg, 0), sm90_panel_counts(c, r_.tile));
  Val tiles = c.tiles.region_columns(r_.index);
  Val index = b_.add(b_.mul(sm90_panel(c, r_.tile), tiles), r_.tile.column_in_region);
  Val start = b_.mul(b_.convert(index, Ty::I64), int64_t{kWordBytes} * reduction.state_size);
  for (int w = 0; w < reduction.state_size; ++w) {
    Val at = b_.add(b_.add(c.arguments.workspace(active.buffer), start), w * kWordBytes);
    gpu::store_element(b_, at, b_.bits(total.word[w], Ty::I32), kWordBytes, writes);
  }
  gpu::named_barrier(b_, barrier, kWarpgroup);
}

}  // namespace coda
