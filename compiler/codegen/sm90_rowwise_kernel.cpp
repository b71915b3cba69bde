#include "compiler/codegen/sm90_rowwise_kernel.h"

#include <algorithm>

#include "compiler/codegen/sm90_rowwise_totals.h"

namespace coda {
namespace {

constexpr int kWordBytes = 4;
constexpr int kArrivalBytes = 16;
constexpr int kWarp = 32;
constexpr size_t kMostWholeRegions = 6;  // of which a version for whole rows is made: each adds to the code

class RowKernel {
 public:
  RowKernel(Sm90RowContext& context, KernelImage& image)
      : c_(context), b_(context.b), plan_(context.plan), image_(image), totals_(context, image) {}

  void emit() {
    thread_ = gpu::special_register(b_, "tid.x");
    cta_ = gpu::special_register(b_, "ctaid.x");
    ctas_ = gpu::special_register(b_, "nctaid.x");
    if (totals_.any()) {
      // Workspaces have room for so many; on a larger device the others have nothing to do.
      ctas_ = b_.op(IntOp::Umin, ctas_, kSm90MostPanels);
      Block work = b_.block("work"), idle = b_.block("idle");
      b_.branch(b_.test(IntTest::Ult, cta_, ctas_), work, idle);
      b_.enter(idle);
      b_.ret();
      b_.enter(work);
    }
    lane_ = b_.op(IntOp::And, thread_, plan_.row_threads - 1);
    group_ = b_.op(IntOp::Udiv, thread_, plan_.row_threads);
    shared_ = b_.shared_int(b_.shared_base());
    rows_ = c_.arguments.extent(image_.rows);
    if (plan_.dependent == 1) gpu::allow_next_kernel(b_);
    if (plan_.dependent) gpu::await_earlier_kernels(b_);
    versions();
    if (plan_.dependent == 2) gpu::allow_next_kernel(b_);
    Val arrival = b_.add(shared_, exchange_bytes());
    totals_.finish(thread_, cta_, ctas_, arrival);
    image_.shared_bytes = exchange_bytes() + kArrivalBytes;
    b_.ret();
  }

 private:
  /// A version for rows whose columns are all unrolled and aligned, where such rows can be, and one for any.
  void versions() {
    const auto columns = whole_columns();
    if (!columns) return loop_over_rows();
    Block whole = b_.block("whole"), any = b_.block("any"), after = b_.block("after");
    const NvptxBuilder::Place choice = b_.mark();
    Sm90WholeRows facts{.columns = *columns};
    b_.enter(whole);
    c_.whole = &facts;
    loop_over_rows();
    c_.whole = nullptr;
    b_.jump(after);
    b_.enter(any);
    loop_over_rows();
    b_.jump(after);
    b_.at(choice, [&] { b_.branch(holds(facts), whole, any); });
    b_.unmark(choice);
    b_.enter(after);
  }

  /// How many columns of each region a version of whole rows counts on, if there is to be one.
  std::optional<std::vector<int64_t>> whole_columns() const {
    const size_t regions = c_.epilogue.regions.size();
    if (plan_.vector == 1 || plan_.row_threads == 1 || regions == 0 || regions > kMostWholeRegions) return std::nullopt;
    if (regions > 1 && !plan_.streams) return std::nullopt;
    if (plan_.region_columns.empty()) return std::vector<int64_t>(regions, 0);
    std::vector<int64_t> all;
    for (size_t r = 0; r < regions; ++r) {
      const int tile = plan_.tile_columns(static_cast<int>(r));
      const int64_t columns = plan_.region_columns[r], unit = plan_.shares_rows ? tile : plan_.chunk_columns();
      if (columns % plan_.vector != 0) return std::nullopt;
      if (!plan_.shares_rows && columns > tile) return std::nullopt;
      all.push_back(plan_.shares_rows && columns % unit != 0 ? 0 : columns / unit * unit);
    }
    return all;
  }

  Val holds(const Sm90WholeRows& facts) {
    Val whole = c_.arguments.conditions_hold(facts.conditions);
    for (size_t r = 0; r < facts.columns.size(); ++r) {
      const int tile = plan_.tile_columns(static_cast<int>(r));
      Val columns = c_.arguments.extent(c_.epilogue.regions[r].extent);
      const int64_t unit = plan_.shares_rows && facts.columns[r] > 0 ? tile : plan_.vector;
      whole = b_.both(whole, b_.test(IntTest::Eq, b_.op(IntOp::Urem, columns, unit), 0));
      if (plan_.shares_rows) continue;
      whole = b_.both(whole, b_.test(IntTest::Uge, columns, facts.columns[r]));
      whole = b_.both(whole, b_.test(IntTest::Ule, columns, tile));
    }
    return whole;
  }

  void loop_over_rows() {
    Val row_tiles = b_.ceil_div(b_.convert(rows_, Ty::I32), plan_.rows());
    Val tiles = row_tiles, column_tiles;
    if (plan_.shares_rows) {
      // As the launch counts them: parts of all regions, though one after the other would do with the longest's.
      for (const Region& region : c_.epilogue.regions) {
        Val parts = b_.ceil_div(c_.arguments.extent32(region.extent), plan_.tile_columns());
        column_tiles = column_tiles ? b_.add(column_tiles, parts) : parts;
      }
      tiles = b_.mul(row_tiles, column_tiles);
    }
    std::vector<Val> initial{cta_, b_.i32(0)};
    const std::vector<Val> states = totals_.begin(b_.add(b_.mul(cta_, plan_.rows()), group_), lane_);
    initial.insert(initial.end(), states.begin(), states.end());
    const Val own_column = b_.mul(lane_, plan_.vector);
    const Val own_first = b_.convert(own_column, Ty::I64);
    Sm90RowTurns turns;
    const bool in_turns = c_.whole && !plan_.shares_rows && !plan_.streams;
    if (in_turns) {
      turns.first = row_at(cta_);
      c_.before_rows = b_.mark();
      c_.kept_words = c_.carried_words = 0;
    }
    std::vector<Val> after = b_.loop(
        "rows", initial, [&](std::span<const Val> v) { return b_.test(IntTest::Ult, v[0], tiles); },
        [&](std::span<const Val> v) {
          std::vector<Val> next(v.begin(), v.end());
          turn_ = v[1];
          Val tile = v[0], first = own_first;
          next[0] = b_.add(v[0], ctas_);
          if (plan_.shares_rows) {
            tile = b_.op(IntOp::Udiv, v[0], column_tiles);
            Val part = b_.sub(v[0], b_.mul(tile, column_tiles));
            first = b_.convert(b_.add(own_column, b_.mul(part, plan_.tile_columns())), Ty::I64);
          }
          // Where many chunks stream, their addresses less the row's would not fit the registers: they are made anew.
          if (plan_.streams) first = b_.convert(gpu::veiled(b_, own_column), Ty::I64);
          if (in_turns) turns.next = row_at(next[0]);
          Sm90Row row = row_at(tile);
          if (plan_.rows() == 1) row.inside = b_.i1(true);
          one_row(row, in_turns ? &turns : nullptr, first, std::span(next).subspan(2));
          next[1] = b_.op(IntOp::Xor, v[1], 1);
          return next;
        });
    if (c_.before_rows) b_.unmark(*c_.before_rows);
    c_.before_rows.reset();
    turn_ = after[1];
    totals_.end(std::span(after).subspan(2),
                [&](const Statistic& statistic, Val* state) { combine(statistic, state); });
  }

  Sm90Row row_at(Val tile) {
    Val number = b_.add(b_.mul(tile, plan_.rows()), group_);
    Sm90Row row{.digits = {}, .inside = b_.test(IntTest::Ult, number, b_.convert(rows_, Ty::I32))};
    const std::vector<NamedDim>& dims = c_.epilogue.rows;
    row.digits.resize(dims.size());
    Val rest = number;
    for (size_t i = dims.size(); i-- > 0;) {
      Val digit = rest;
      if (i > 0) {
        Val extent = c_.arguments.extent32(dims[i].extent);
        Val quotient = b_.op(IntOp::Udiv, rest, extent);
        digit = b_.sub(rest, b_.mul(quotient, extent));
        rest = quotient;
      }
      row.digits[i] = {dims[i], b_.convert(digit, Ty::I64)};
    }
    return row;
  }

  void one_row(const Sm90Row& row, const Sm90RowTurns* turns, Val first, std::span<Val> states) {
    std::vector<Val> finished(c_.epilogue.statistics.size());
    Sm90RowFrame frame(c_, row, finished, !plan_.shares_rows, turns);
    for (size_t r = 0; r < c_.epilogue.regions.size(); ++r) frame.open_region(static_cast<int>(r), first);
    frame.open_loads();
    if (plan_.streams) {
      stream_row(frame, row, finished, first, states);
    } else {
      for (size_t s = 0; s < finished.size(); ++s) {
        const Statistic& statistic = c_.epilogue.statistics[s];
        if (statistic.scope == StatScope::Row) finished[s] = statistic_of_row(statistic, frame, row, finished, first);
      }
    }
    Val leads = b_.both(row.inside, b_.test(IntTest::Eq, lane_, 0));
    std::vector<std::pair<const FinishStore*, Val>> values;
    for (const FinishStore& store : c_.epilogue.finish_stores) {
      if (store.scope != StatScope::Row) continue;
      values.emplace_back(&store, frame.evaluate(-1, 0, store.value, frame.row_env()));
    }
    for (const auto& [store, value] : values) {
      frame.store_one(store->param, store->index, frame.row_env(), value,
                      c_.epilogue.program.graph[store->value].num_class, leads);
    }
    for (size_t r = 0; r < c_.epilogue.regions.size() && !plan_.streams; ++r) {
      region(static_cast<int>(r), frame, row, finished, first, states);
    }
    frame.close_loads();
  }

  // ---- a row's statistics -------------------------------------------------------------------------------------------

  Val statistic_of_row(const Statistic& statistic, Sm90RowFrame& frame, const Sm90Row& row,
                       const std::vector<Val>& finished, Val first) {
    Emitter& e = c_.numbers.emitter();
    const Reduction& reduction = *statistic.reduction;
    std::vector<Val> state;
    for (int w = 0; w < reduction.state_size; ++w) state.push_back(e.real(reduction.identity[w]));
    for (const Statistic::Part& part : statistic.parts) {
      for (int chunk = 0; chunk < plan_.chunks_of(part.region); ++chunk) {
        lift_chunk(reduction, part, frame, chunk * plan_.chunk_columns(), state.data());
      }
      beyond(part.region, row, finished, first, state, [&](Sm90RowFrame& rest, Val, std::vector<Val>& carried) {
        lift_chunk(reduction, part, rest, 0, carried.data());
      });
    }
    return finished_statistic(statistic, frame, state.data());
  }

  Val finished_statistic(const Statistic& statistic, Sm90RowFrame& frame, Val* state) {
    Emitter& e = c_.numbers.emitter();
    const Reduction& reduction = *statistic.reduction;
    combine(statistic, state);
    const Val value = reduction.emit_finish(e, state, e.int_to_real(c_.arguments.extent(statistic.count)));
    return frame.evaluator().convert(value, reduction.result, c_.epilogue.program.graph[statistic.node].num_class);
  }

  /// One walk over the row: each chunk is lifted into the row's statistics and stored, then forgotten. `states`: over
  /// all rows.
  void stream_row(Sm90RowFrame& frame, const Sm90Row& row, std::vector<Val>& finished, Val first,
                  std::span<Val> states) {
    Emitter& e = c_.numbers.emitter();
    // Of each statistic of a row its state, one after the other.
    std::vector<Val> own;
    for (const Statistic& statistic : c_.epilogue.statistics) {
      if (statistic.scope != StatScope::Row) continue;
      for (int w = 0; w < statistic.reduction->state_size; ++w) own.push_back(e.real(statistic.reduction->identity[w]));
    }
    const auto lift = [&](int r, Sm90RowFrame& at, int first_slot, Val* state) {
      for (const Statistic& statistic : c_.epilogue.statistics) {
        if (statistic.scope != StatScope::Row) continue;
        for (const Statistic::Part& part : statistic.parts) {
          if (part.region == r) lift_chunk(*statistic.reduction, part, at, first_slot, state);
        }
        state += statistic.reduction->state_size;
      }
    };
    for (int r = 0; r < static_cast<int>(c_.epilogue.regions.size()); ++r) {
      for (int chunk = 0; chunk < plan_.chunks_of(r); ++chunk) {
        frame.advance_loads();
        lift(r, frame, chunk * plan_.chunk_columns(), own.data());
        store_chunk(r, frame, chunk * plan_.chunk_columns(), states, {});
      }
      std::vector<Val> carried = own;
      const std::vector<size_t> single = totals_.single_states(r);
      for (const size_t i : single) carried.push_back(states[i]);
      beyond(r, row, finished, first, carried, [&](Sm90RowFrame& rest, Val column, std::vector<Val>& mine) {
        std::vector<Val> all(states.begin(), states.end());
        for (size_t i = 0; i < single.size(); ++i) all[single[i]] = mine[own.size() + i];
        lift(r, rest, 0, mine.data());
        store_chunk(r, rest, 0, all, column);
        for (size_t i = 0; i < single.size(); ++i) mine[own.size() + i] = all[single[i]];
      });
      std::copy_n(carried.begin(), own.size(), own.begin());
      for (size_t i = 0; i < single.size(); ++i) states[single[i]] = carried[own.size() + i];
    }
    Val* state = own.data();
    for (size_t s = 0; s < finished.size(); ++s) {
      const Statistic& statistic = c_.epilogue.statistics[s];
      if (statistic.scope != StatScope::Row) continue;
      finished[s] = finished_statistic(statistic, frame, state);
      state += statistic.reduction->state_size;
    }
  }

  void lift_chunk(const Reduction& reduction, const Statistic::Part& part, Sm90RowFrame& frame, int first_slot,
                  Val* state) {
    Emitter& e = c_.numbers.emitter();
    std::vector<Val> many;
    for (int slot = first_slot; slot < first_slot + plan_.vector; ++slot) {
      const LiftedValue x =
          frame.evaluate_lifted(part.region, slot, part.body, frame.at(part.region, part.columns, slot));
      const Val inside = frame.inside(part.region, slot);
      if (reduction.emit_lift_many) {
        many.push_back(inside ? e.select(inside, x.word[0], e.real(reduction.neutral)) : x.word[0]);
        continue;
      }
      std::vector<Val> lifted(state, state + reduction.state_size);
      reduction.emit_lift(e, x, lifted.data());
      for (int w = 0; w < reduction.state_size; ++w) {
        state[w] =
            inside ? b_.select(inside, lifted[static_cast<size_t>(w)], state[w]) : lifted[static_cast<size_t>(w)];
      }
    }
    if (!many.empty()) reduction.emit_lift_many(e, many, state);
  }

  /// Columns beyond the unrolled ones, a chunk at a time, in a frame of their own.
  void beyond(int region, const Sm90Row& row, const std::vector<Val>& finished, Val first, std::vector<Val>& carried,
              const std::function<void(Sm90RowFrame&, Val column, std::vector<Val>&)>& body) {
    if (plan_.shares_rows || c_.whole) return;
    const Dim& extent = c_.epilogue.regions[static_cast<size_t>(region)].extent;
    if (const auto constant = extent.constant(); constant && *constant <= plan_.tile_columns(region)) return;
    Val end = c_.arguments.extent(extent);
    std::vector<Val> initial{b_.add(first, plan_.tile_columns(region))};
    initial.insert(initial.end(), carried.begin(), carried.end());
    std::vector<Val> after = b_.loop(
        "beyond", initial,
        [&](std::span<const Val> v) { return b_.both(row.inside, b_.test(IntTest::Ult, v[0], end)); },
        [&](std::span<const Val> v) {
          std::vector<Val> next(v.begin() + 1, v.end());
          {
            Sm90RowFrame frame(c_, row, finished, false);
            frame.open_region(region, v[0]);
            frame.open_loads();
            body(frame, v[0], next);
            frame.close_loads();
          }
          next.insert(next.begin(), b_.add(v[0], plan_.chunk_columns()));
          return next;
        });
    carried.assign(after.begin() + 1, after.end());
  }

  int most_words() const {
    int words = 0;
    for (const Statistic& statistic : c_.epilogue.statistics) words = std::max(words, statistic.reduction->state_size);
    return words;
  }
  /// Bytes of shared memory for states on their way between warps: two turns of each statistic.
  int exchange_bytes() const {
    const int statistics = plan_.warps() == 1 ? 0 : static_cast<int>(c_.epilogue.statistics.size());
    return statistics * 2 * plan_.rows() * plan_.warps() * most_words() * kWordBytes;
  }

  /// The state of the row's threads together, in all of them. Two places in shared memory alternate from row to row, so
  /// that one barrier is enough.
  void combine(const Statistic& statistic, Val* state) {
    const Reduction& reduction = *statistic.reduction;
    combine_row_lanes(c_, reduction, std::min(plan_.row_threads, kWarp), state);
    const int warps = plan_.warps(), words = most_words();
    if (warps == 1) return;
    const int turn_bytes = plan_.rows() * warps * words * kWordBytes;
    const auto number = static_cast<int>(&statistic - c_.epilogue.statistics.data());
    Val base = b_.add(shared_, number * 2 * turn_bytes);
    base = b_.add(base, b_.mul(turn_, turn_bytes));
    base = b_.add(base, b_.mul(group_, warps * words * kWordBytes));
    const auto place = [&](Val warp, int w) {
      return b_.add(b_.add(base, b_.mul(warp, words * kWordBytes)), w * kWordBytes);
    };
    Val in_warp = b_.op(IntOp::And, thread_, kWarp - 1);
    Val warp = b_.op(IntOp::Lshr, lane_, 5);
    Val leads = b_.test(IntTest::Eq, in_warp, 0);
    for (int w = 0; w < reduction.state_size; ++w) {
      gpu::store_shared_where(b_, place(warp, w), b_.bits(state[w], Ty::I32), leads);
    }
    // Rows of one CTA don't wait for each other. Barrier 0 is the CTA's.
    if (plan_.rows() == 1) {
      gpu::cta_barrier(b_);
    } else {
      gpu::named_barrier(b_, b_.add(group_, 1), plan_.row_threads);
    }
    Val other = b_.op(IntOp::And, in_warp, warps - 1);
    for (int w = 0; w < reduction.state_size; ++w) {
      state[w] = b_.bits(gpu::load_shared(b_, place(other, w), kWordBytes), Ty::F32);
    }
    combine_row_lanes(c_, reduction, warps, state);
  }

  // ---- stores -------------------------------------------------------------------------------------------------------

  void region(int number, Sm90RowFrame& frame, const Sm90Row& row, const std::vector<Val>& finished, Val first,
              std::span<Val> states) {
    const bool stores = std::any_of(c_.epilogue.stores.begin(), c_.epilogue.stores.end(),
                                    [&](const Store& store) { return store.region == number; });
    if (!stores && !totals_.use(number)) return;
    for (int chunk = 0; chunk < plan_.chunks_of(number); ++chunk) {
      store_chunk(number, frame, chunk * plan_.chunk_columns(), states, {});
    }
    std::vector<Val> carried;
    const std::vector<size_t> single = totals_.single_states(number);
    for (const size_t i : single) carried.push_back(states[i]);
    beyond(number, row, finished, first, carried, [&](Sm90RowFrame& rest, Val column, std::vector<Val>& own) {
      std::vector<Val> all(states.begin(), states.end());
      for (size_t i = 0; i < single.size(); ++i) all[single[i]] = own[i];
      store_chunk(number, rest, 0, all, column);
      for (size_t i = 0; i < single.size(); ++i) own[i] = all[single[i]];
    });
    for (size_t i = 0; i < single.size(); ++i) states[single[i]] = carried[i];
  }

  bool is_narrow(const Store& store) const {
    const DTypeInfo& stored = info(c_.epilogue.program.params[static_cast<size_t>(store.param)].dtype);
    return c_.epilogue.regions.size() == 1 && stored.num_class == NumClass::Real && stored.bits <= 16;
  }

  /// All values before the first store: an inout parameter is read as it was.
  /// What 16 bits or fewer store may be approximate, once what isn't so stored has been evaluated.
  void store_chunk(int number, Sm90RowFrame& frame, int first_slot, std::span<Val> states, Val column) {
    std::vector<std::pair<const Store*, std::vector<Sm90RowFrame::Element>>> elements;
    const auto evaluate = [&](const Store& store) {
      elements.emplace_back(&store, std::vector<Sm90RowFrame::Element>{});
      for (int slot = first_slot; slot < first_slot + plan_.vector; ++slot) {
        const Env env = frame.at(number, store.columns, slot);
        const Val value = frame.evaluate(number, slot, store.value, env);
        elements.back().second.push_back(frame.element(store, env, value, slot));
      }
    };
    for (const bool narrow : {false, true}) {
      for (const Store& store : c_.epilogue.stores) {
        if (store.region == number && is_narrow(store) == narrow) evaluate(store);
      }
      if (!narrow) totals_.lift(frame, number, first_slot, states, column);
      c_.numbers.approximate(!narrow);
    }
    for (const auto& [store, list] : elements) frame.store(number, store->param, list);
  }

  Sm90RowContext& c_;
  NvptxBuilder& b_;
  const Sm90RowPlan& plan_;
  KernelImage& image_;
  Sm90RowTotals totals_;
  Val thread_, cta_, ctas_, lane_, group_, shared_, rows_, turn_;
};

}  // namespace

std::string emit_sm90_rowwise(NvptxBuilder& b, const EpilogueProgram& epilogue, const Sm90RowPlan& plan,
                              KernelImage& image) {
  b.begin_kernel({image.entry, 0, plan.threads, 1, std::max(1, plan.threads_per_sm / plan.threads)});
  Sm90Arguments arguments(b, image);
  NvptxNumbers numbers(b, false);
  Sm90RowContext context{b, arguments, numbers, epilogue, plan, {}};
  RowKernel kernel(context, image);
  kernel.emit();
  b.end_kernel(static_cast<int>(image.words.size()));
  return context.failure;
}

}  // namespace coda
