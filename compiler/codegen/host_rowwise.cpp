#include "compiler/codegen/host_rowwise.h"

namespace coda {

using llvm::Value;

namespace {

/// The most copies of the innermost work that are written out for digits inside the lanes' digit.
constexpr int64_t kMaxUnrolled = 16;

}  // namespace

HostRowwise::HostRowwise(HostModule& module, const std::string& name)
    : HostFunction(module, name, {false, false}),
      epilogue_(module.epilogue),
      finished_(module.epilogue.statistics.size()) {}

void HostRowwise::emit() {
  first_row_ = add_variable(argument(0), {.name = "row0", .multiple_of = kHostSweepRows});
  for (size_t s = 0; s < epilogue_.statistics.size(); ++s) {
    const Statistic& statistic = epilogue_.statistics[s];
    if (statistic.scope == StatScope::Row) continue;
    Total total{&statistic, static_cast<int>(s), nullptr, nullptr};
    if (statistic.scope == StatScope::All) {
      total.state = std::make_unique<HostState>(emitter(), *statistic.reduction, 1);
      total.row = std::make_unique<HostState>(emitter(), *statistic.reduction, module_.lanes);
    }
    totals_.push_back(std::move(total));
  }
  reset_totals();
  for_each(emitter().root(), argument(0), argument(1), {.name = "row", .bound = module_.layout.rows},
           [&](const Coord& row, Scope* scope) {
             Env rows;
             evaluator().bind_rows(row, rows);
             for (size_t s = 0; s < epilogue_.statistics.size(); ++s) {
               const Statistic& statistic = epilogue_.statistics[s];
               if (statistic.scope == StatScope::Row) finished_[s] = row_statistic(statistic, rows, scope);
             }
             emit_row_stores(rows, scope);
             for (size_t r = 0; r < epilogue_.regions.size(); ++r) emit_region(static_cast<int>(r), rows, scope);
           });
  save_totals();
}

// ---- columns --------------------------------------------------------------------------------------------------------

Env HostRowwise::with_digits(const Env& rows, const ColumnSpace& columns, const std::vector<Coord>& digits) const {
  Env env = rows;
  for (size_t i = 0; i < digits.size(); ++i) env.set(columns.digits[i].dim.name, digits[i]);
  return env;
}

void HostRowwise::walk(const ColumnSpace& columns, Scope* in, const ElementBody& body) {
  const std::vector<ColumnDigit>& digits = columns.digits;
  if (digits.empty()) return body({}, in, 1);
  size_t lane_digit = digits.size() - 1;
  int64_t unrolled = 1;
  while (lane_digit > 0) {
    const auto extent = digits[lane_digit].extent.constant();
    if (!extent || *extent >= module_.lanes) break;
    unrolled *= *extent;
    --lane_digit;
  }
  if (unrolled > kMaxUnrolled) lane_digit = digits.size() - 1;

  std::vector<Coord> at(digits.size());
  const std::function<void(size_t, Scope*, unsigned)> inner = [&](size_t i, Scope* scope, unsigned lanes) {
    if (i == digits.size()) return body(at, scope, lanes);
    for (int64_t k = 0; k < *digits[i].extent.constant(); ++k) {
      at[i] = Coord(k);
      inner(i + 1, scope, lanes);
    }
  };
  const std::function<void(size_t, Scope*)> nest = [&](size_t i, Scope* scope) {
    const VarFacts facts{.name = digits[i].dim.name, .bound = digits[i].extent};
    Value* end = value_of(extent(digits[i].extent));
    if (i == lane_digit) {
      for_lanes(scope, number(0), end, facts, [&](const Coord& j, Scope* loop, unsigned lanes) {
        at[i] = j;
        inner(i + 1, loop, lanes);
      });
      return;
    }
    for_each(scope, number(0), end, facts, [&](const Coord& j, Scope* loop) {
      at[i] = j;
      nest(i + 1, loop);
    });
  };
  nest(0, in);
}

void HostRowwise::emit_region(int region, const Env& rows, Scope* row_scope) {
  std::vector<const Store*> stores;
  std::vector<Total*> totals;
  const ColumnSpace* columns = nullptr;
  for (const Store& store : epilogue_.stores) {
    if (store.region != region) continue;
    stores.push_back(&store);
    columns = &store.columns;
  }
  for (Total& total : totals_) {
    const Statistic::Part& part = total.statistic->parts[0];
    if (part.region != region) continue;
    totals.push_back(&total);
    columns = &part.columns;
  }
  if (!columns) return;
  const Graph& graph = epilogue_.program.graph;
  for (Total* total : totals) {
    if (total->row) total->row->reset(row_scope);
  }
  walk(*columns, row_scope, [&](const std::vector<Coord>& digits, Scope* scope, unsigned lanes) {
    // All values before the first store: an inout parameter is read as it was.
    std::vector<Val> values;
    for (const Store* store : stores) {
      values.push_back(evaluator().evaluate(store->value, with_digits(rows, store->columns, digits)));
    }
    for (Total* total : totals) {
      const Statistic::Part& part = total->statistic->parts[0];
      const LiftedValue x = evaluator().evaluate_lifted(part.body, with_digits(rows, part.columns, digits));
      if (total->row) {
        total->row->lift(scope, x, lanes);
      } else {
        lift_column(*total, digits, x, scope, lanes);
      }
    }
    for (size_t i = 0; i < stores.size(); ++i) {
      const Store& store = *stores[i];
      store_element(scope, store.param, store.index, with_digits(rows, store.columns, digits), values[i],
                    graph[store.value].num_class);
    }
  });
  for (Total* total : totals) {
    if (total->row) total->state->combine(row_scope, total->row->total(row_scope), 1);
  }
}

// ---- statistics -----------------------------------------------------------------------------------------------------

Val HostRowwise::row_statistic(const Statistic& statistic, const Env& rows, Scope* row_scope) {
  HostState state(emitter(), *statistic.reduction, module_.lanes);
  state.reset(row_scope);
  for (const Statistic::Part& part : statistic.parts) {
    walk(part.columns, row_scope, [&](const std::vector<Coord>& digits, Scope* scope, unsigned lanes) {
      state.lift(scope, evaluator().evaluate_lifted(part.body, with_digits(rows, part.columns, digits)), lanes);
    });
  }
  const StateWords total = state.total(row_scope);
  const Val count = emitter().int_to_real(evaluator().value_of(Coord::of(statistic.count)));
  const Val value = statistic.reduction->emit_finish(emitter(), total.word, count);
  return evaluator().convert(value, statistic.reduction->result, epilogue_.program.graph[statistic.node].num_class);
}

Val HostRowwise::statistic(const Statistic& statistic, const Env&, Val) {
  const Val finished = finished_[static_cast<size_t>(&statistic - epilogue_.statistics.data())];
  if (finished) return finished;
  evaluator().fail("a statistic is used before it is whole");
  return emitter().real(0);
}

void HostRowwise::emit_row_stores(const Env& rows, Scope* scope) {
  std::vector<const FinishStore*> stores;
  std::vector<Val> values;
  for (const FinishStore& store : epilogue_.finish_stores) {
    if (store.scope != StatScope::Row) continue;
    stores.push_back(&store);
    values.push_back(evaluator().evaluate(store.value, rows));
  }
  for (size_t i = 0; i < stores.size(); ++i) {
    store_element(scope, stores[i]->param, stores[i]->index, rows, values[i],
                  epilogue_.program.graph[stores[i]->value].num_class);
  }
}

// ---- states over all rows, laid out as host_tile.cpp says -----------------------------------------------------------

Value* HostRowwise::buffer(const Total& total) {
  return workspace(module_.layout.buffers[static_cast<size_t>(total.index)][0]);
}

Coord HostRowwise::scaled(const Coord& value, const Dim& by) {
  if (const auto product = value.times(by)) return *product;
  return evaluator().bind(emitter().int_mul(evaluator().value_of(value), extent(by)));
}

std::vector<ArrayAxis> HostRowwise::column_axes(const Total& total, int word, const std::vector<Coord>& digits) {
  const std::vector<ColumnDigit>& columns = total.statistic->parts[0].columns.digits;
  Coord column;
  for (size_t i = 0; i < digits.size(); ++i) column = column + scaled(digits[i], columns[i].stride);
  const Coord panel = evaluator().divide(first_row_, Dim(kHostSweepRows)).first;
  Value* pitch = value_of(extent(epilogue_.regions[static_cast<size_t>(total.statistic->parts[0].region)].extent));
  return {{column}, {(panel + Coord(1)) * total.statistic->reduction->state_size + Coord(word), pitch}};
}

void HostRowwise::reset_totals() {
  for (Total& total : totals_) {
    if (total.state) {
      total.state->reset(emitter().root());
      continue;
    }
    const Reduction& reduction = *total.statistic->reduction;
    walk(total.statistic->parts[0].columns, emitter().root(),
         [&](const std::vector<Coord>& digits, Scope* scope, unsigned lanes) {
           for (int w = 0; w < reduction.state_size; ++w) {
             Value* identity = value_of(emitter().real(reduction.identity[w]));
             if (lanes > 1) identity = builder_.CreateVectorSplat(lanes, identity);
             memory_->store(scope, buffer(total), column_axes(total, w, digits), identity);
           }
         });
  }
}

void HostRowwise::lift_column(const Total& total, const std::vector<Coord>& digits, const LiftedValue& x, Scope* scope,
                              unsigned lanes) {
  const Reduction& reduction = *total.statistic->reduction;
  StateWords state;
  for (int w = 0; w < reduction.state_size; ++w) {
    // Not through memory_->load: that would be placed, and found again, by what the address depends on.
    state.word[w] =
        val_of(memory_->load_at(scope, buffer(total), builder_.getFloatTy(), column_axes(total, w, digits)));
  }
  reduction.emit_lift(emitter(), x, state.word);
  for (int w = 0; w < reduction.state_size; ++w) {
    Value* value = value_of(state.word[w]);
    if (lanes > 1 && !value->getType()->isVectorTy()) value = emitter().at(scope).CreateVectorSplat(lanes, value);
    memory_->store(scope, buffer(total), column_axes(total, w, digits), value);
  }
}

void HostRowwise::save_totals() {
  Scope* root = emitter().root();
  const Coord panel = evaluator().divide(first_row_, Dim(kHostSweepRows)).first;
  for (Total& total : totals_) {
    if (!total.state) continue;
    const int words = total.statistic->reduction->state_size;
    const StateWords state = total.state->read(root, 1);
    for (int w = 0; w < words; ++w) {
      memory_->store(root, buffer(total), {{panel * words + Coord(w)}}, value_of(state.word[w]));
    }
  }
}

}  // namespace coda
