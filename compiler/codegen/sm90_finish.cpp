#include "compiler/codegen/sm90_finish.h"

#include <algorithm>

#include "compiler/codegen/nvptx_ops.h"
#include "compiler/codegen/sm90_hooks.h"
#include "compiler/codegen/sm90_statistics.h"

namespace coda {
namespace {

constexpr int kWordBytes = 4;
constexpr int kWarps = 4;
constexpr int kAtOnce = 16;  // partial states read before the first is combined
constexpr StatScope kScopes[] = {StatScope::Row, StatScope::Column, StatScope::All};

}  // namespace

/// Statistics come from a table; parameters are read element by element; there are no accumulators.
class Sm90Finish::Hooks final : public EvalHooks {
 public:
  Hooks(Sm90Finish& finish, const Totals& totals, Val predicate) : f_(finish), totals_(totals), predicate_(predicate) {}
  void set_evaluator(EpilogueEvaluator* evaluator) { evaluator_ = evaluator; }
  std::map<VarId, Val> variables;

  Val variable(VarId variable) override { return variables.at(variable); }
  Val extent(const Dim& value) override { return f_.c_.arguments.extent(value); }
  Val scalar(int param) override { return sm90_scalar(f_.c_, f_.numbers_, param); }
  Val load(int param, std::span<const Coord> index, Val predicate) override {
    const DType dtype = f_.c_.epilogue.program.params[static_cast<size_t>(param)].dtype;
    if (info(dtype).bits < 8) {
      f_.fail("reading elements of type " + std::string(info(dtype).name));
      return f_.numbers_.emitter().real(0);
    }
    Val at = sm90_address(f_.c_, param, index, [&](const Coord& x) { return evaluator_->value_of(x); });
    Val inside = predicate ? f_.b_.both(predicate_, predicate) : predicate_;
    return f_.numbers_.decode(gpu::load_element(f_.b_, at, info(dtype).bits / 8, inside), dtype);
  }
  Val accumulator(const Coord&, const Coord&, Val) override {
    f_.fail("an element of the product in the finish stage");
    return f_.numbers_.emitter().real(0);
  }
  Val reduce_in_tile(const TileReduction&) override {
    f_.fail("a reduction in the finish stage");
    return f_.numbers_.emitter().real(0);
  }
  Val statistic(const Statistic& statistic, const Env& env, Val) override {
    const auto found = totals_.find(&statistic);
    if (found == totals_.end() || !is_here(statistic, env)) {
      f_.fail("a statistic of another column or scope");
      return f_.numbers_.emitter().real(0);
    }
    return found->second;
  }
  Coord column;  ///< scope Column: where the states were combined

 private:
  /// Whether a column statistic is asked for at the column that was combined.
  bool is_here(const Statistic& statistic, const Env& env) {
    if (statistic.scope != StatScope::Column) return true;
    const ColumnSpace& columns = statistic.parts[0].columns;
    Env here;
    Val inside;
    if (evaluator_->bind_columns(columns, column, here, inside) == Answer::No) return false;
    return std::all_of(columns.digits.begin(), columns.digits.end(), [&](const ColumnDigit& digit) {
      const Coord *asked = env.find(digit.dim.name), *combined = here.find(digit.dim.name);
      return asked && combined && *asked == *combined;
    });
  }

  Sm90Finish& f_;
  const Totals& totals_;
  Val predicate_;
  EpilogueEvaluator* evaluator_ = nullptr;
};

void Sm90Finish::fail(const std::string& reason) {
  if (failure_.empty()) failure_ = reason;
}

void Sm90Finish::emit(const Sm90Tile& tile) {
  if (!has_any()) return;
  const int sharers = c_.plan.schedule.sharers();
  Val barrier = c_.consumer_barrier();
  const auto counter = [&](StatScope scope) {
    Val base = c_.arguments.workspace(layout_.counters(scope));
    Val number = scope == StatScope::Row   ? sm90_panel(c_, tile)
                 : scope == StatScope::All ? tile.group
                                           : b_.add(b_.mul(tile.group, c_.tiles.columns()), tile.column_index);
    return b_.add(base, b_.convert(b_.mul(number, kWordBytes), Ty::I64));
  };
  const auto expected = [&](StatScope scope) {
    Val panels = b_.mul(c_.tiles.group_panels(), sharers);
    if (scope == StatScope::Row) return c_.tiles.columns();
    return scope == StatScope::Column ? panels : b_.mul(panels, c_.tiles.columns());
  };
  // One thread's release covers what the barrier puts before it. A fence in every thread would hold up the loads and
  // barriers of the whole CTA.
  gpu::named_barrier(b_, barrier, kWarpgroup);
  Val first = b_.test(IntTest::Eq, c_.thread_in_wg, 0);
  b_.when(first, "arrive", [&] {
    for (StatScope scope : kScopes) {
      if (!layout_.has(scope)) continue;
      Val before = gpu::atomic_increment_release(b_, counter(scope));
      gpu::store_shared(b_, b_.add(scratch_, kWordBytes * static_cast<int>(scope)), before, kWordBytes);
    }
  });
  gpu::named_barrier(b_, barrier, kWarpgroup);
  for (StatScope scope : kScopes) {
    if (!layout_.has(scope)) continue;
    Val before = gpu::load_shared(b_, b_.add(scratch_, kWordBytes * static_cast<int>(scope)), kWordBytes);
    b_.when(b_.test(IntTest::Eq, b_.add(before, 1), expected(scope)), "finish", [&] {
      gpu::fence_gpu(b_);
      switch (scope) {
        case StatScope::Row:
          finish_rows(tile);
          break;
        case StatScope::Column:
          finish_columns(tile);
          break;
        case StatScope::All:
          finish_all(tile);
          break;
      }
      gpu::store_element(b_, counter(scope), b_.i32(0), kWordBytes, first);
    });
  }
}

Val Sm90Finish::total(const Statistic& statistic, const std::function<Val(size_t)>& count,
                      const std::function<Val(size_t, Val, int)>& address, Val predicate, int stride, Val first,
                      const std::function<void(Val*)>& gather) {
  Emitter& e = numbers_.emitter();
  const Reduction& reduction = *statistic.reduction;
  Val state[kMaxStateWords];
  for (int w = 0; w < reduction.state_size; ++w) state[w] = e.real(reduction.identity[w]);
  for (size_t part = 0; part < statistic.parts.size(); ++part) {
    Val end = count(part);
    std::vector<Val> initial = {first};
    initial.insert(initial.end(), state, state + reduction.state_size);
    const std::vector<Val> after = b_.loop(
        "combine", initial, [&](std::span<const Val> v) { return b_.test(IntTest::Ult, v[0], end); },
        [&](std::span<const Val> v) {
          Val read[kAtOnce][kMaxStateWords];
          for (int i = 0; i < kAtOnce; ++i) {
            Val number = b_.add(v[0], i * stride);
            Val inside = b_.both(predicate, b_.test(IntTest::Ult, number, end));
            for (int w = 0; w < reduction.state_size; ++w) {
              read[i][w] = gpu::load_released(b_, address(part, number, w), e.real(reduction.identity[w]), inside);
            }
          }
          Val sum[kMaxStateWords];
          std::copy(v.begin() + 1, v.end(), sum);
          for (int i = 0; i < kAtOnce; ++i) reduction.emit_combine(e, sum, read[i]);
          std::vector<Val> next = {b_.add(v[0], kAtOnce * stride)};
          next.insert(next.end(), sum, sum + reduction.state_size);
          return next;
        });
    for (int w = 0; w < reduction.state_size; ++w) state[w] = after[static_cast<size_t>(w) + 1];
  }
  if (gather) gather(state);
  return reduction.emit_finish(e, state, e.int_to_real(c_.arguments.extent(statistic.count)));
}

void Sm90Finish::store(const FinishStore& store, EpilogueEvaluator& evaluator, Env env, std::vector<NamedDim> walks,
                       Val predicate) {
  if (!walks.empty()) {
    fail("a finished output with a dimension of its own, `" + walks[0].name + "`");
    return;
  }
  const Program& program = c_.epilogue.program;
  const DType dtype = program.params[static_cast<size_t>(store.param)].dtype;
  if (info(dtype).bits < 8) return fail("storing elements of type " + std::string(info(dtype).name));
  std::vector<Coord> index;
  for (const AffineMap& map : store.index) index.push_back(evaluator.apply(map, env));
  const NumClass own = program.graph[store.value].num_class;
  const Val value = evaluator.evaluate(store.value, env);
  const Val stored = info(dtype).num_class == NumClass::Real ? evaluator.convert(value, own, NumClass::Real)
                                                             : evaluator.to_dtype(value, own, dtype);
  Val at = sm90_address(c_, store.param, index, [&](const Coord& x) { return evaluator.value_of(x); });
  gpu::store_element(b_, at, numbers_.encode(stored, dtype), info(dtype).bits / 8, predicate);
}

void Sm90Finish::finish_rows(const Sm90Tile& tile) {
  const int rows = c_.plan.schedule.rows_per_consumer();
  Val m = c_.arguments.extent(c_.rows);
  Val number = b_.add(b_.add(tile.row, b_.mul(c_.share, rows)), c_.thread_in_wg);
  Val row = b_.convert(number, Ty::I64);
  Val inside = b_.both(b_.test(IntTest::Ult, c_.thread_in_wg, rows), b_.test(IntTest::Ult, number, tile.row_end));
  Totals totals;
  for (size_t s = 0; s < c_.epilogue.statistics.size(); ++s) {
    const Statistic& statistic = c_.epilogue.statistics[s];
    if (statistic.scope != StatScope::Row) continue;
    if (const auto term = sm90_direct_term(c_.epilogue, statistic)) {
      totals[&statistic] = single_term(statistic, *term, layout_.partials[s][0], row, inside);
      continue;
    }
    totals[&statistic] = total(
        statistic, [&](size_t p) { return c_.tiles.region_columns(statistic.parts[p].region); },
        [&](size_t p, Val number, int w) {
          Val line = b_.add(b_.mul(b_.convert(number, Ty::I64), statistic.reduction->state_size), w);
          return b_.add(c_.arguments.workspace(layout_.partials[s][p]),
                        b_.mul(b_.add(b_.mul(line, m), row), kWordBytes));
        },
        inside, 1, b_.i32(0), {});
  }
  store_row(row, inside, totals);
}

Val Sm90Finish::single_term(const Statistic& statistic, const Sm90SingleTerm& term, int buffer, Val row, Val inside) {
  Emitter& e = numbers_.emitter();
  CoordSpace space;
  const Totals none;
  Hooks hooks(*this, none, inside);
  EpilogueEvaluator evaluator(c_.epilogue, space, e, hooks);
  hooks.set_evaluator(&evaluator);
  const VarId variable = space.add({.name = "row", .bound = c_.rows});
  hooks.variables[variable] = row;
  Env env;
  evaluator.bind_rows(Coord::variable(variable), env);
  Val wanted = evaluator.evaluate(term.wanted, env), columns = c_.arguments.extent(statistic.count);
  if (!evaluator.failure().empty()) fail(evaluator.failure());
  Val left = b_.both(inside, b_.test(IntTest::Ult, wanted, columns));
  Val at = b_.add(c_.arguments.workspace(buffer), b_.mul(row, kWordBytes));
  Val state[kMaxStateWords] = {gpu::load_released(b_, at, e.real(0), left)};
  return statistic.reduction->emit_finish(e, state, e.int_to_real(columns));
}

void Sm90Finish::store_row(Val row, Val inside, const Totals& totals) {
  CoordSpace space;
  Hooks hooks(*this, totals, inside);
  EpilogueEvaluator evaluator(c_.epilogue, space, numbers_.emitter(), hooks);
  hooks.set_evaluator(&evaluator);
  const VarId variable = space.add({.name = "row", .bound = c_.rows});
  hooks.variables[variable] = row;
  Env env;
  evaluator.bind_rows(Coord::variable(variable), env);
  for (const FinishStore& out : c_.epilogue.finish_stores) {
    if (out.scope != StatScope::Row) continue;
    std::vector<NamedDim> walks;
    for (const NamedDim& dim : c_.epilogue.program.graph[out.value].dims) {
      if (std::find(c_.epilogue.rows.begin(), c_.epilogue.rows.end(), dim) == c_.epilogue.rows.end()) {
        walks.push_back(dim);
      }
    }
    store(out, evaluator, env, walks, inside);
  }
  if (!evaluator.failure().empty()) fail(evaluator.failure());
}

void Sm90Finish::finish_columns(const Sm90Tile& tile) {
  Val panels = sm90_panel_count(c_);
  Val before = b_.mul(tile.group, panels);
  c_.for_region(tile.region, {}, [&](int r) {
    const Region& region = c_.epilogue.regions[static_cast<size_t>(r)];
    const Sm90RegionPlan& plan = c_.plan.regions[static_cast<size_t>(r)];
    Val extent = c_.arguments.extent(region.extent);
    const Val initial[] = {c_.thread_in_wg};
    b_.loop(
        "finish.columns", initial, [&](std::span<const Val> v) { return b_.test(IntTest::Ult, v[0], plan.step); },
        [&](std::span<const Val> v) {
          Val column = b_.convert(b_.add(tile.column, v[0]), Ty::I64);
          Val inside = b_.test(IntTest::Ult, column, extent);
          Totals totals;
          for (size_t s = 0; s < c_.epilogue.statistics.size(); ++s) {
            const Statistic& statistic = c_.epilogue.statistics[s];
            if (statistic.scope != StatScope::Column || statistic.parts[0].region != r) continue;
            totals[&statistic] = total(
                statistic, [&](size_t) { return panels; },
                [&](size_t p, Val number, int w) {
                  Val panel = b_.convert(b_.add(before, number), Ty::I64);
                  Val line = b_.add(b_.mul(panel, statistic.reduction->state_size), w);
                  return b_.add(c_.arguments.workspace(layout_.partials[s][p]),
                                b_.mul(b_.add(b_.mul(line, extent), column), kWordBytes));
                },
                inside, 1, b_.i32(0), {});
          }
          store_column(r, tile.group, column, inside, totals);
          return std::vector<Val>{b_.add(v[0], kWarpgroup)};
        });
    return std::vector<Val>{};
  });
}

void Sm90Finish::bind_group(Val group, Hooks& hooks, CoordSpace& space, EpilogueEvaluator& evaluator, Env& env) {
  if (c_.epilogue.kept == 0) return;
  const VarId variable = space.add({.name = "group", .bound = c_.epilogue.kept_groups()});
  hooks.variables[variable] = b_.convert(group, Ty::I64);
  evaluator.bind_group(Coord::variable(variable), env);
}

void Sm90Finish::store_column(int r, Val group, Val column, Val inside, const Totals& totals) {
  const Region& region = c_.epilogue.regions[static_cast<size_t>(r)];
  CoordSpace space;
  Hooks hooks(*this, totals, inside);
  EpilogueEvaluator evaluator(c_.epilogue, space, numbers_.emitter(), hooks);
  hooks.set_evaluator(&evaluator);
  const VarId variable = space.add({.name = "column", .bound = region.extent});
  hooks.variables[variable] = column;
  hooks.column = Coord::variable(variable);
  space.assume(hooks.column, region.extent);
  Env of_group;
  bind_group(group, hooks, space, evaluator, of_group);
  for (const FinishStore& out : c_.epilogue.finish_stores) {
    if (out.scope != StatScope::Column || out.region != r) continue;
    Env env = of_group;
    Val predicate;
    if (evaluator.bind_columns(out.columns, hooks.column, env, predicate) == Answer::No) continue;
    store(out, evaluator, env, {}, predicate ? b_.both(inside, predicate) : inside);
  }
  if (!evaluator.failure().empty()) fail(evaluator.failure());
}

void Sm90Finish::finish_all(const Sm90Tile& tile) {
  Emitter& e = numbers_.emitter();
  Val barrier = c_.consumer_barrier();
  Val panels = sm90_panel_count(c_);
  Val warp = b_.op(IntOp::Lshr, c_.thread_in_wg, 5);
  Val leads = b_.test(IntTest::Eq, b_.op(IntOp::And, c_.thread, 31), 0);
  Totals totals;
  for (size_t s = 0; s < c_.epilogue.statistics.size(); ++s) {
    const Statistic& statistic = c_.epilogue.statistics[s];
    if (statistic.scope != StatScope::All) continue;
    const Reduction& reduction = *statistic.reduction;
    // Each thread combines every 128th state, then lanes and warps in their order.
    const auto gather = [&](Val* state) {
      for (int mask : {1, 2, 4, 8, 16}) combine_lanes(b_, e, reduction, mask, state);
      const auto place = [&](Val of_warp, int w) {
        Val index = b_.add(b_.mul(of_warp, reduction.state_size), w);
        return b_.add(scratch_, b_.add(b_.mul(index, kWordBytes), kSm90ArrivalBytes));
      };
      gpu::named_barrier(b_, barrier, kWarpgroup);
      for (int w = 0; w < reduction.state_size; ++w) {
        gpu::store_shared_where(b_, place(warp, w), b_.bits(state[w], Ty::I32), leads);
        state[w] = e.real(reduction.identity[w]);
      }
      gpu::named_barrier(b_, barrier, kWarpgroup);
      for (int i = 0; i < kWarps; ++i) {
        Val other[kMaxStateWords];
        for (int w = 0; w < reduction.state_size; ++w) {
          other[w] = b_.bits(gpu::load_shared(b_, place(b_.i32(i), w), kWordBytes), Ty::F32);
        }
        reduction.emit_combine(e, state, other);
      }
    };
    totals[&statistic] = total(
        statistic, [&](size_t p) { return b_.mul(panels, c_.tiles.region_columns(statistic.parts[p].region)); },
        [&](size_t p, Val number, int w) {
          Val before = b_.mul(b_.mul(tile.group, panels), c_.tiles.region_columns(statistic.parts[p].region));
          Val start = b_.mul(b_.convert(b_.add(before, number), Ty::I64), int64_t{kWordBytes} * reduction.state_size);
          return b_.add(b_.add(c_.arguments.workspace(layout_.partials[s][p]), start), w * kWordBytes);
        },
        b_.i1(true), kWarpgroup, c_.thread_in_wg, gather);
  }
  store_all(tile.group, b_.test(IntTest::Eq, c_.thread_in_wg, 0), totals);
  // Of one group; the scratch is written again for the next tile.
  if (c_.epilogue.kept > 0) gpu::named_barrier(b_, barrier, kWarpgroup);
}

void Sm90Finish::store_all(Val group, Val inside, const Totals& totals) {
  CoordSpace space;
  Hooks hooks(*this, totals, inside);
  EpilogueEvaluator evaluator(c_.epilogue, space, numbers_.emitter(), hooks);
  hooks.set_evaluator(&evaluator);
  Env env;
  bind_group(group, hooks, space, evaluator, env);
  for (const FinishStore& out : c_.epilogue.finish_stores) {
    if (out.scope != StatScope::All) continue;
    std::vector<NamedDim> walks = c_.epilogue.program.graph[out.value].dims;
    std::erase_if(walks, [&](const NamedDim& dim) { return env.find(dim.name) != nullptr; });
    store(out, evaluator, env, walks, inside);
  }
  if (!evaluator.failure().empty()) fail(evaluator.failure());
}

bool Sm90Finish::has_any() const {
  return std::any_of(std::begin(kScopes), std::end(kScopes), [&](StatScope s) { return layout_.has(s); });
}

Sm90Finish::Totals Sm90Finish::totals_of_nothing(StatScope scope, int region) {
  Emitter& e = numbers_.emitter();
  Totals totals;
  for (const Statistic& statistic : c_.epilogue.statistics) {
    if (statistic.scope != scope || (scope == StatScope::Column && statistic.parts[0].region != region)) continue;
    const Reduction& reduction = *statistic.reduction;
    Val state[kMaxStateWords];
    for (int w = 0; w < reduction.state_size; ++w) state[w] = e.real(reduction.identity[w]);
    totals[&statistic] = reduction.emit_finish(e, state, e.int_to_real(c_.arguments.extent(statistic.count)));
  }
  return totals;
}

void Sm90Finish::emit_nothing() {
  if (!has_any()) return;
  const auto walk = [&](const char* name, const Dim& extent, const std::function<void(Val)>& body) {
    Val end = c_.arguments.extent32(extent);
    const Val initial[] = {c_.thread_in_wg};
    b_.loop(
        name, initial, [&](std::span<const Val> v) { return b_.test(IntTest::Ult, v[0], end); },
        [&](std::span<const Val> v) {
          body(b_.convert(v[0], Ty::I64));
          return std::vector<Val>{b_.add(v[0], kWarpgroup)};
        });
  };
  Val number = b_.add(b_.add(c_.tiles.first(), c_.tiles.rank()), c_.consumer);
  b_.when(b_.test(IntTest::Eq, b_.op(IntOp::Or, c_.tiles.total(), number), 0), "nothing", [&] {
    if (layout_.has(StatScope::Row)) {
      const Totals totals = totals_of_nothing(StatScope::Row, -1);
      walk("nothing.rows", c_.rows, [&](Val row) { store_row(row, b_.i1(true), totals); });
    }
    for (size_t r = 0; layout_.has(StatScope::Column) && r < c_.epilogue.regions.size(); ++r) {
      const int region = static_cast<int>(r);
      const Totals totals = totals_of_nothing(StatScope::Column, region);
      const Dim& columns = c_.epilogue.regions[r].extent;
      walk("nothing.columns", c_.epilogue.kept_groups() * columns, [&](Val number) {
        if (c_.epilogue.kept == 0) return store_column(region, b_.i32(0), number, b_.i1(true), totals);
        Val width = c_.arguments.extent(columns), group = b_.op(IntOp::Udiv, number, width);
        store_column(region, b_.convert(group, Ty::I32), b_.sub(number, b_.mul(group, width)), b_.i1(true), totals);
      });
    }
    if (!layout_.has(StatScope::All)) return;
    const Totals totals = totals_of_nothing(StatScope::All, -1);
    walk("nothing.all", c_.epilogue.kept_groups(),
         [&](Val group) { store_all(b_.convert(group, Ty::I32), b_.i1(true), totals); });
  });
}

}  // namespace coda
