#include "compiler/codegen/host_finish.h"

#include <algorithm>

namespace coda {

using llvm::Value;

HostFinish::HostFinish(HostModule& module, const std::string& name, const std::vector<bool>& arguments)
    : HostFunction(module, name, arguments), epilogue_(module.epilogue) {}

std::vector<const FinishStore*> HostFinish::stores_of(StatScope scope) const {
  std::vector<const FinishStore*> found;
  for (const FinishStore& store : epilogue_.finish_stores) {
    if (store.scope == scope) found.push_back(&store);
  }
  return found;
}

void HostFinish::store_all(const std::vector<const FinishStore*>& stores, const Env& env, Scope* scope) {
  std::vector<Val> values;
  for (const FinishStore* store : stores) values.push_back(evaluator().evaluate(store->value, env));
  for (size_t i = 0; i < stores.size(); ++i) {
    const NumClass num_class = epilogue_.program.graph[stores[i]->value].num_class;
    store_element(scope, stores[i]->param, stores[i]->index, env, values[i], num_class);
  }
}

void HostFinish::emit_store(const FinishStore& store, std::span<const Walk> walks, Scope* in, const Env& env) {
  if (walks.empty()) return store_all({&store}, env, in);
  const Walk& walk = walks.front();
  const VarFacts facts{.name = walk.dim, .bound = walk.extent};
  Value* extent_value = value_of(extent(walk.extent));
  const auto with = [&](const Coord& at) {
    Env inner = env;
    inner.set(walk.dim, at + Coord::of(walk.offset));
    return inner;
  };
  if (walks.size() == 1) {
    for_lanes(in, number(0), extent_value, facts,
              [&](const Coord& at, Scope* scope, unsigned) { store_all({&store}, with(at), scope); });
  } else {
    for_each(in, number(0), extent_value, facts,
             [&](const Coord& at, Scope* scope) { emit_store(store, walks.subspan(1), scope, with(at)); });
  }
}

void HostFinish::emit_rows() {
  // Stores of one element a row share a loop over rows in lanes; wider ones get their own.
  std::vector<const FinishStore*> narrow, wide;
  const auto is_row = [&](const NamedDim& dim) {
    return std::find(epilogue_.rows.begin(), epilogue_.rows.end(), dim) != epilogue_.rows.end();
  };
  for (const FinishStore* store : stores_of(StatScope::Row)) {
    const auto& dims = epilogue_.program.graph[store->value].dims;
    (std::all_of(dims.begin(), dims.end(), is_row) ? narrow : wide).push_back(store);
  }
  const VarFacts facts{.name = "row", .bound = module_.layout.rows};
  if (!narrow.empty()) {
    for_lanes(emitter().root(), argument(0), argument(1), facts, [&](const Coord& row, Scope* scope, unsigned) {
      Env env;
      evaluator().bind_rows(row, env);
      store_all(narrow, env, scope);
    });
  }
  for (const FinishStore* store : wide) {
    for_each(emitter().root(), argument(0), argument(1), facts, [&](const Coord& row, Scope* scope) {
      Env env;
      evaluator().bind_rows(row, env);
      std::vector<Walk> others;
      for (const NamedDim& dim : epilogue_.program.graph[store->value].dims) {
        if (!is_row(dim)) others.push_back({dim.name, dim.extent, Dim(0)});
      }
      emit_store(*store, others, scope, env);
    });
  }
}

void HostFinish::for_each_group(const std::function<void(const Group&)>& body) {
  if (epilogue_.kept == 0) return body({Coord(0), {}, emitter().root()});
  const Dim groups = epilogue_.kept_groups();
  for_each(emitter().root(), number(0), value_of(extent(groups)), {.name = "group", .bound = groups},
           [&](const Coord& number, Scope* scope) {
             Group group{number, {}, scope};
             evaluator().bind_group(number, group.env);
             body(group);
           });
}

void HostFinish::emit_rest() {
  for_each_group([&](const Group& group) { emit_rest(group); });
}

void HostFinish::emit_rest(const Group& group) {
  for (size_t s = 0; s < epilogue_.statistics.size(); ++s) {
    const Statistic& statistic = epilogue_.statistics[s];
    if (statistic.scope != StatScope::Column) continue;
    for (size_t p = 0; p < statistic.parts.size(); ++p) {
      emit_columns(group, statistic, statistic.parts[p], workspace(module_.layout.buffers[s][p]));
    }
  }
  for (const FinishStore* store : stores_of(StatScope::Column)) {
    std::vector<Walk> walks;
    for (const ColumnDigit& digit : store->columns.digits) {
      walks.push_back({digit.dim.name, digit.extent, digit.offset});
    }
    emit_store(*store, walks, group.scope, group.env);
  }
  for (const FinishStore* store : stores_of(StatScope::All)) {
    std::vector<Walk> walks;
    for (const NamedDim& dim : epilogue_.program.graph[store->value].dims) {
      if (group.env.find(dim.name) == nullptr) walks.push_back({dim.name, dim.extent, Dim(0)});
    }
    emit_store(*store, walks, group.scope, group.env);
  }
}

// ---- partial states; host_tile.cpp has their layouts ----------------------------------------------------------------

void HostFinish::combine_tiles(HostState& state, const Reduction& reduction, Scope* in, unsigned lanes, Value* buffer,
                               Value* tiles, const StateAxes& axes) {
  for_each(in, number(0), tiles, {.name = "tile"}, [&](const Coord& tile, Scope* scope) {
    StateWords other;
    for (int w = 0; w < reduction.state_size; ++w) {
      other.word[w] = val_of(memory_->load_at(scope, buffer, builder_.getFloatTy(), axes(tile, w)));
    }
    state.combine(scope, other, lanes);
  });
}

void HostFinish::emit_columns(const Group& group, const Statistic& statistic, const Statistic::Part& part,
                              Value* buffer) {
  const Reduction& reduction = *statistic.reduction;
  Value* columns = value_of(extent(epilogue_.regions[part.region].extent));
  Value* tiles = value_of(tiles_of_group());
  const Coord first = first_tile(group.number) + Coord::of(epilogue_.kept_groups());
  HostState state(emitter(), reduction, module_.lanes);
  for_lanes(group.scope, number(0), columns, {.name = "c"}, [&](const Coord& c, Scope* scope, unsigned lanes) {
    state.reset(scope);
    combine_tiles(state, reduction, scope, lanes, buffer, tiles,
                  [&](const Coord& tile, int w) -> std::vector<ArrayAxis> {
                    return {{c}, {(tile + first) * reduction.state_size + Coord(w), columns}};
                  });
    const StateWords total = state.read(scope, lanes);
    for (int w = 0; w < reduction.state_size; ++w) {
      memory_->store(scope, buffer, {{c}, {group.number * reduction.state_size + Coord(w), columns}},
                     value_of(total.word[w]));
    }
  });
}

/// Tiles of the rows of one group. Of a batch none reaches into two products.
Val HostFinish::tiles_of_group() {
  if (epilogue_.batch == 0) return tile_count(emitter(), extent(module_.layout.rows), module_.layout.tile_rows);
  const Val in_batch = tile_count(emitter(), extent(epilogue_.rows_in_batch()), module_.layout.tile_rows);
  return emitter().int_mul(extent(epilogue_.batches_in_group()), in_batch);
}

Coord HostFinish::first_tile(const Coord& group) {
  if (epilogue_.kept == 0) return Coord(0);
  return evaluator().bind(emitter().int_mul(evaluator().value_of(group), tiles_of_group()));
}

StateWords HostFinish::row_total(const Statistic& statistic, int index, const Coord& row) {
  Env env;
  env.set("row", row);
  Scope* scope;
  const unsigned lanes = lanes_in(env, {}, scope);
  const Reduction& reduction = *statistic.reduction;
  HostState state(emitter(), reduction, lanes);
  state.reset(scope);
  Value* rows = value_of(extent(module_.layout.rows));
  for (size_t p = 0; p < statistic.parts.size(); ++p) {
    const int region = statistic.parts[p].region;
    const Val tiles = tile_count(emitter(), extent(epilogue_.regions[region].extent), module_.layout.widths[region]);
    combine_tiles(state, reduction, scope, lanes, workspace(module_.layout.buffers[index][p]), value_of(tiles),
                  [&](const Coord& tile, int w) -> std::vector<ArrayAxis> {
                    return {{row}, {tile * reduction.state_size + Coord(w), rows}};
                  });
  }
  return state.read(scope, lanes);
}

StateWords HostFinish::whole_total(const Statistic& statistic, int index, const Env& env) {
  const Reduction& reduction = *statistic.reduction;
  const Coord group = evaluator().group_of(env);
  Env of_group;
  of_group.set("group", group);
  Scope* scope;
  lanes_in(of_group, {}, scope);
  HostState state(emitter(), reduction, 1);
  state.reset(scope);
  const Coord first_row_tile = first_tile(group);
  for (size_t p = 0; p < statistic.parts.size(); ++p) {
    const int region = statistic.parts[p].region;
    const Val tiles = tile_count(emitter(), extent(epilogue_.regions[region].extent), module_.layout.widths[region]);
    const Coord first = epilogue_.kept == 0
                            ? Coord(0)
                            : evaluator().bind(emitter().int_mul(evaluator().value_of(first_row_tile), tiles));
    combine_tiles(state, reduction, scope, 1, workspace(module_.layout.buffers[index][p]),
                  value_of(emitter().int_mul(tiles_of_group(), tiles)),
                  [&](const Coord& tile, int w) -> std::vector<ArrayAxis> {
                    return {{(tile + first) * reduction.state_size + Coord(w)}};
                  });
  }
  return state.read(scope, 1);
}

StateWords HostFinish::column_total(const Statistic& statistic, int index, const Env& env, Val predicate) {
  const Reduction& reduction = *statistic.reduction;
  StateWords total;
  for (int w = 0; w < reduction.state_size; ++w) total.word[w] = emitter().real(reduction.identity[w]);
  const Coord group = evaluator().group_of(env);
  for (size_t p = 0; p < statistic.parts.size(); ++p) {
    const Statistic::Part& part = statistic.parts[p];
    Coord column(part.columns.phase);
    Val here = predicate;
    Answer answer = Answer::Yes;
    for (const ColumnDigit& digit : part.columns.digits) {
      const Coord* at = env.find(digit.dim.name);
      if (!at) {
        evaluator().fail("a column statistic that is itself summed over columns");
        return total;
      }
      const Coord own = *at - Coord::of(digit.offset);
      const Answer found = space_.inside(own, Dim(0), digit.extent);
      if (found == Answer::No) answer = found;
      if (found == Answer::Unknown && answer == Answer::Yes) answer = found;
      if (found == Answer::Unknown) here = evaluator().within(own, Dim(0), digit.extent, here);
      const auto scaled = own.times(digit.stride);
      column = column + (scaled ? *scaled
                                : evaluator().bind(emitter().int_mul(evaluator().value_of(own), extent(digit.stride))));
    }
    if (answer == Answer::No) continue;
    Value* columns = value_of(extent(epilogue_.regions[part.region].extent));
    for (int w = 0; w < reduction.state_size; ++w) {
      const Val state = val_of(memory_->load(workspace(module_.layout.buffers[index][p]), builder_.getFloatTy(),
                                             {{column}, {group * statistic.reduction->state_size + Coord(w), columns}},
                                             value_of(here)));
      total.word[w] = answer == Answer::Yes ? state : emitter().select(here, state, total.word[w]);
    }
  }
  return total;
}

Val HostFinish::statistic(const Statistic& statistic, const Env& env, Val predicate) {
  const int index = static_cast<int>(&statistic - epilogue_.statistics.data());
  StateWords total;
  switch (statistic.scope) {
    case StatScope::Row:
      total = row_total(statistic, index, evaluator().row_of(env));
      break;
    case StatScope::Column:
      total = column_total(statistic, index, env, predicate);
      break;
    case StatScope::All:
      total = whole_total(statistic, index, env);
      break;
  }
  const Val count = emitter().int_to_real(evaluator().value_of(Coord::of(statistic.count)));
  const Val value = statistic.reduction->emit_finish(emitter(), total.word, count);
  return evaluator().convert(value, statistic.reduction->result, epilogue_.program.graph[statistic.node].num_class);
}

}  // namespace coda
