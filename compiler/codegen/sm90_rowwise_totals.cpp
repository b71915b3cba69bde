#include "compiler/codegen/sm90_rowwise_totals.h"

#include <algorithm>

namespace coda {
namespace {

constexpr int kWordBytes = 4;
constexpr int kAtOnce = 8;  // states read before the first is combined
constexpr int kSet = 16;    // CTAs whose states are combined first

}  // namespace

Sm90RowTotals::Sm90RowTotals(Sm90RowContext& context, KernelImage& image) : c_(context), b_(context.b) {
  const Sm90RowPlan& plan = c_.plan;
  for (size_t s = 0; s < c_.epilogue.statistics.size(); ++s) {
    const Statistic& statistic = c_.epilogue.statistics[s];
    if (statistic.scope == StatScope::Row) continue;
    Total total{&statistic, static_cast<int>(s), static_cast<int>(image.workspaces.size()), states_};
    const int64_t groups = int64_t{kSm90MostPanels} * plan.rows() * kWordBytes * total.words();
    WorkspaceSpec spec;
    spec.bytes = total.of_columns() ? c_.epilogue.regions[static_cast<size_t>(total.region())].extent * Dim(groups)
                                    : Dim(groups);
    image.workspaces.push_back(spec);
    states_ += static_cast<size_t>(total.words() * (total.of_columns() ? plan.chunks * plan.vector : 1));
    totals_.push_back(total);
  }
  if (totals_.empty()) return;
  counters_ = static_cast<int>(image.workspaces.size());
  WorkspaceSpec counters;
  counters.bytes = Dim(kWordBytes * (1 + kSm90MostPanels / kSet));
  counters.zeroed = true;
  image.workspaces.push_back(counters);
}

size_t Sm90RowTotals::state_of(const Total& total, int chunk, int k, int word) const {
  return total.first_state + static_cast<size_t>((chunk * c_.plan.vector + k) * total.words() + word);
}

bool Sm90RowTotals::use(int region) const {
  return std::any_of(totals_.begin(), totals_.end(), [&](const Total& total) { return total.region() == region; });
}

std::vector<size_t> Sm90RowTotals::single_states(int region) const {
  std::vector<size_t> places;
  for (const Total& total : totals_) {
    if (total.region() != region || total.of_columns()) continue;
    for (int w = 0; w < total.words(); ++w) places.push_back(total.first_state + static_cast<size_t>(w));
  }
  return places;
}

/// Columns: [group][word][column]; all: [group][word].
Val Sm90RowTotals::address(const Total& total, Val group, int word, Val column) {
  Val line = b_.add(b_.mul(b_.convert(group, Ty::I64), total.words()), word);
  if (total.of_columns()) {
    Val columns = c_.arguments.extent(c_.epilogue.regions[static_cast<size_t>(total.region())].extent);
    line = b_.add(b_.mul(line, columns), column);
  }
  return b_.add(c_.arguments.workspace(total.workspace), b_.mul(line, kWordBytes));
}

std::vector<Val> Sm90RowTotals::begin(Val group, Val lane) {
  group_ = group;
  lane_ = lane;
  Emitter& e = c_.numbers.emitter();
  std::vector<Val> states;
  for (const Total& total : totals_) {
    const Reduction& reduction = *total.statistic->reduction;
    const int elements = total.of_columns() ? c_.plan.chunks * c_.plan.vector : 1;
    for (int i = 0; i < elements; ++i) {
      for (int w = 0; w < total.words(); ++w) states.push_back(e.real(reduction.identity[w]));
    }
    if (!total.of_columns()) continue;
    Val end = c_.arguments.extent(c_.epilogue.regions[static_cast<size_t>(total.region())].extent);
    Val first = b_.add(b_.mul(lane, c_.plan.vector), c_.plan.tile_columns());
    const Val initial[] = {b_.convert(first, Ty::I64)};
    b_.loop(
        "identity", initial, [&](std::span<const Val> v) { return b_.test(IntTest::Ult, v[0], end); },
        [&](std::span<const Val> v) {
          for (int k = 0; k < c_.plan.vector; ++k) {
            Val column = b_.add(v[0], k);
            for (int w = 0; w < total.words(); ++w) {
              gpu::store_element(b_, address(total, group, w, column), b_.bits(e.real(reduction.identity[w]), Ty::I32),
                                 kWordBytes, b_.test(IntTest::Ult, column, end));
            }
          }
          return std::vector<Val>{b_.add(v[0], c_.plan.chunk_columns())};
        });
  }
  return states;
}

void Sm90RowTotals::lift(Sm90RowFrame& frame, int region, int first_slot, std::span<Val> states, Val column) {
  Emitter& e = c_.numbers.emitter();
  for (const Total& total : totals_) {
    if (total.region() != region) continue;
    const Reduction& reduction = *total.statistic->reduction;
    const Statistic::Part& part = total.statistic->parts[0];
    const bool in_memory = total.of_columns() && column;
    for (int k = 0; k < c_.plan.vector; ++k) {
      const int slot = first_slot + k;
      const LiftedValue x = frame.evaluate_lifted(region, slot, part.body, frame.at(region, part.columns, slot));
      const Val inside = frame.row_inside(region, slot);
      const int chunk = first_slot / c_.plan.chunk_columns();
      std::vector<Val> state;
      for (int w = 0; w < total.words(); ++w) {
        Val held;
        if (in_memory) {
          Val at = address(total, group_, w, b_.add(column, k));
          held = b_.bits(gpu::load_element(b_, at, kWordBytes, inside), Ty::F32);
        } else {
          held = states[total.of_columns() ? state_of(total, chunk, k, w) : total.first_state + static_cast<size_t>(w)];
        }
        state.push_back(held);
      }
      std::vector<Val> lifted = state;
      reduction.emit_lift(e, x, lifted.data());
      for (int w = 0; w < total.words(); ++w) {
        const auto i = static_cast<size_t>(w);
        if (in_memory) {
          gpu::store_element(b_, address(total, group_, w, b_.add(column, k)), b_.bits(lifted[i], Ty::I32), kWordBytes,
                             inside);
          continue;
        }
        Val& held = states[total.of_columns() ? state_of(total, chunk, k, w) : total.first_state + i];
        held = b_.select(inside, lifted[i], state[i]);
      }
    }
  }
}

void Sm90RowTotals::end(std::span<Val> states, const std::function<void(const Statistic&, Val*)>& combine) {
  for (const Total& total : totals_) {
    if (!total.of_columns()) {
      combine(*total.statistic, &states[total.first_state]);
      Val leads = b_.test(IntTest::Eq, lane_, 0);
      for (int w = 0; w < total.words(); ++w) {
        gpu::store_element(b_, address(total, group_, w, {}),
                           b_.bits(states[total.first_state + static_cast<size_t>(w)], Ty::I32), kWordBytes, leads);
      }
      continue;
    }
    Val end = c_.arguments.extent(c_.epilogue.regions[static_cast<size_t>(total.region())].extent);
    for (int chunk = 0; chunk < c_.plan.chunks; ++chunk) {
      for (int k = 0; k < c_.plan.vector; ++k) {
        Val column = b_.convert(b_.add(b_.mul(lane_, c_.plan.vector), chunk * c_.plan.chunk_columns() + k), Ty::I64);
        for (int w = 0; w < total.words(); ++w) {
          gpu::store_element(b_, address(total, group_, w, column),
                             b_.bits(states[state_of(total, chunk, k, w)], Ty::I32), kWordBytes,
                             b_.test(IntTest::Ult, column, end));
        }
      }
    }
  }
}

// ---- finish ---------------------------------------------------------------------------------------------------------

void Sm90RowTotals::finish(Val thread, Val cta, Val ctas, Val arrival) {
  const bool wanted = std::any_of(c_.epilogue.finish_stores.begin(), c_.epilogue.finish_stores.end(),
                                  [](const FinishStore& store) { return store.scope != StatScope::Row; });
  if (!wanted) return;
  const int rows = c_.plan.rows();
  const Groups of_sets{b_.i32(0), b_.mul(ctas, rows), kSet * rows};
  const auto finish_here = [&] {
    finish_columns(thread, of_sets);
    finish_all(thread, of_sets);
  };
  if (!any()) return b_.when(b_.test(IntTest::Eq, cta, 0), "finish", finish_here);
  Val counters = c_.arguments.workspace(counters_);
  Val set = b_.op(IntOp::Udiv, cta, kSet);
  Val own = b_.add(counters, b_.convert(b_.mul(b_.add(set, 1), kWordBytes), Ty::I64));
  Val begin = b_.mul(set, kSet), end = b_.op(IntOp::Umin, b_.add(begin, kSet), ctas);
  arrive(thread, own, b_.sub(end, begin), arrival, [&] {
    fold(thread, {b_.mul(begin, rows), b_.mul(end, rows), 1});
    arrive(thread, counters, b_.ceil_div(ctas, kSet), arrival, finish_here);
  });
}

void Sm90RowTotals::arrive(Val thread, Val counter, Val expected, Val arrival, const std::function<void()>& last) {
  Val first = b_.test(IntTest::Eq, thread, 0);
  gpu::fence_gpu(b_);
  gpu::cta_barrier(b_);
  b_.when(first, "arrive",
          [&] { gpu::store_shared(b_, arrival, gpu::atomic_increment_release(b_, counter), kWordBytes); });
  gpu::cta_barrier(b_);
  Val before = gpu::load_shared(b_, arrival, kWordBytes);
  b_.when(b_.test(IntTest::Eq, b_.add(before, 1), expected), "last", [&] {
    gpu::fence_gpu(b_);
    gpu::store_element(b_, counter, b_.i32(0), kWordBytes, first);
    last();
  });
}

std::vector<Val> Sm90RowTotals::combined(const Total& total, const Groups& groups, Val column) {
  Emitter& e = c_.numbers.emitter();
  const Reduction& reduction = *total.statistic->reduction;
  std::vector<Val> initial{groups.first};
  for (int w = 0; w < total.words(); ++w) initial.push_back(e.real(reduction.identity[w]));
  std::vector<Val> after = b_.loop(
      "combine", initial, [&](std::span<const Val> v) { return b_.test(IntTest::Ult, v[0], groups.end); },
      [&](std::span<const Val> v) {
        std::vector<std::vector<Val>> read(kAtOnce);
        for (int i = 0; i < kAtOnce; ++i) {
          Val number = b_.add(v[0], i * groups.step);
          Val there = b_.test(IntTest::Ult, number, groups.end);
          for (int w = 0; w < total.words(); ++w) {
            read[static_cast<size_t>(i)].push_back(
                gpu::load_released(b_, address(total, number, w, column), e.real(reduction.identity[w]), there));
          }
        }
        std::vector<Val> state(v.begin() + 1, v.end());
        for (const auto& other : read) reduction.emit_combine(e, state.data(), other.data());
        state.insert(state.begin(), b_.add(v[0], kAtOnce * groups.step));
        return state;
      });
  after.erase(after.begin());
  return after;
}

Val Sm90RowTotals::finished(const Total& total, const Groups& groups, Val column) {
  Emitter& e = c_.numbers.emitter();
  const std::vector<Val> state = combined(total, groups, column);
  return total.statistic->reduction->emit_finish(e, state.data(),
                                                 e.int_to_real(c_.arguments.extent(total.statistic->count)));
}

/// The groups' states become the first one's.
void Sm90RowTotals::fold(Val thread, const Groups& groups) {
  for (const Total& total : totals_) {
    const auto one = [&](Val column) {
      const std::vector<Val> state = combined(total, groups, column);
      for (int w = 0; w < total.words(); ++w) {
        gpu::store_element(b_, address(total, groups.first, w, column), b_.bits(state[static_cast<size_t>(w)], Ty::I32),
                           kWordBytes, b_.i1(true));
      }
    };
    if (!total.of_columns()) {
      b_.when(b_.test(IntTest::Eq, thread, 0), "fold", [&] { one({}); });
      continue;
    }
    Val end = c_.arguments.extent(c_.epilogue.regions[static_cast<size_t>(total.region())].extent);
    const Val initial[] = {b_.convert(thread, Ty::I64)};
    b_.loop(
        "fold.columns", initial, [&](std::span<const Val> v) { return b_.test(IntTest::Ult, v[0], end); },
        [&](std::span<const Val> v) {
          one(v[0]);
          return std::vector<Val>{b_.add(v[0], c_.plan.threads)};
        });
  }
}

void Sm90RowTotals::finish_columns(Val thread, const Groups& groups) {
  for (size_t r = 0; r < c_.epilogue.regions.size(); ++r) {
    const int region = static_cast<int>(r);
    std::vector<const FinishStore*> stores;
    for (const FinishStore& store : c_.epilogue.finish_stores) {
      if (store.scope == StatScope::Column && store.region == region) stores.push_back(&store);
    }
    if (stores.empty()) continue;
    Val end = c_.arguments.extent(c_.epilogue.regions[r].extent);
    const Val initial[] = {b_.convert(thread, Ty::I64)};
    b_.loop(
        "finish.columns", initial, [&](std::span<const Val> v) { return b_.test(IntTest::Ult, v[0], end); },
        [&](std::span<const Val> v) {
          std::vector<Val> values(c_.epilogue.statistics.size());
          for (const Total& total : totals_) {
            if (!total.of_columns() || total.region() != region) continue;
            values[static_cast<size_t>(total.index)] = finished(total, groups, v[0]);
          }
          const Sm90Row no_row{.digits = {}, .inside = b_.i1(true)};
          Sm90RowFrame frame(c_, no_row, values, false);
          frame.open_single(region, v[0]);
          for (const FinishStore* store : stores) {
            const Env env = frame.at(region, store->columns, 0);
            const Val value = frame.evaluate(region, 0, store->value, env);
            frame.store_one(store->param, store->index, env, value, c_.epilogue.program.graph[store->value].num_class,
                            b_.i1(true));
          }
          return std::vector<Val>{b_.add(v[0], c_.plan.threads)};
        });
  }
}

void Sm90RowTotals::finish_all(Val thread, const Groups& groups) {
  const bool wanted = std::any_of(c_.epilogue.finish_stores.begin(), c_.epilogue.finish_stores.end(),
                                  [](const FinishStore& store) { return store.scope == StatScope::All; });
  if (!wanted) return;
  b_.when(b_.test(IntTest::Eq, thread, 0), "finish.all", [&] {
    std::vector<Val> values(c_.epilogue.statistics.size());
    for (const Total& total : totals_) {
      if (!total.of_columns()) values[static_cast<size_t>(total.index)] = finished(total, groups, {});
    }
    const Sm90Row no_row{.digits = {}, .inside = b_.i1(true)};
    Sm90RowFrame frame(c_, no_row, values, false);
    for (const FinishStore& store : c_.epilogue.finish_stores) {
      if (store.scope != StatScope::All) continue;
      const Val value = frame.evaluate(-1, 0, store.value, {});
      frame.store_one(store.param, store.index, {}, value, c_.epilogue.program.graph[store.value].num_class,
                      b_.i1(true));
    }
  });
}

}  // namespace coda
