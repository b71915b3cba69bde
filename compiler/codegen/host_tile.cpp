#include "compiler/codegen/host_tile.h"

#include <algorithm>
#include <set>

#include "runtime/host_abi.h"

namespace coda {

using llvm::Value;

namespace {

/// The most copies of the innermost work that are written out for digits inside the lanes' digit.
constexpr int64_t kMaxUnrolled = 16;

bool same_walk(const ColumnSpace& a, const ColumnSpace& b) {
  const auto same = [](const ColumnDigit& x, const ColumnDigit& y) {
    return x.extent == y.extent && x.stride == y.stride;
  };
  return a.phase == b.phase && std::equal(a.digits.begin(), a.digits.end(), b.digits.begin(), b.digits.end(), same);
}

void visit_nodes(const Graph& graph, NodeId id, std::set<NodeId>& seen) {
  if (!seen.insert(id).second) return;
  for (const NodeId arg : graph[id].args) visit_nodes(graph, arg, seen);
}

int64_t ceil_div(int64_t a, int64_t b) { return a / b + (a % b > 0); }

}  // namespace

HostTile::HostTile(HostModule& module, const std::string& name, int region)
    : HostFunction(module, name, {true, false, false, false, false, false}),
      epilogue_(module.epilogue),
      region_(region),
      width_(module.layout.widths[region]) {}

void HostTile::emit() {
  make_groups();
  order_groups();
  const int64_t tile_rows = module_.layout.tile_rows;
  row_start_ = add_variable(argument(1), {.name = "row0", .multiple_of = epilogue_.batch > 0 ? 1 : tile_rows});
  row_tile_ = add_variable(argument(5), {.name = "row_tile"});
  // A region that one tile holds begins with it.
  const auto region_columns = epilogue_.regions[region_].extent.constant();
  column_start_ = region_columns && *region_columns <= width_
                      ? Coord(0)
                      : add_variable(argument(3), {.name = "column0", .multiple_of = width_});

  Scope* root = emitter().root();
  reset_column_parts();
  reset(StatScope::All, root);
  const VarFacts row_facts{.name = "r", .count = tile_rows};
  for_each(root, number(0), argument(2), row_facts, [&](const Coord& r, Scope* scope) {
    row_ = row_start_ + r;
    Env env;
    evaluator().bind_rows(row_, env);
    reset(StatScope::Row, scope);
    for (Group& group : groups_) emit_group(group, scope, env);
    save(StatScope::Row, scope);
  });
  save(StatScope::All, root);
}

// ---- what walks together --------------------------------------------------------------------------------------------

void HostTile::make_groups() {
  const auto group_of = [&](const ColumnSpace& columns) -> Group& {
    for (Group& group : groups_) {
      if (same_walk(*group.columns, columns)) return group;
    }
    Group& made = groups_.emplace_back();
    made.columns = &columns;
    return made;
  };
  for (const Store& store : epilogue_.stores) {
    if (store.region == region_) group_of(store.columns).stores.push_back(&store);
  }
  for (size_t s = 0; s < epilogue_.statistics.size(); ++s) {
    const Statistic& statistic = epilogue_.statistics[s];
    for (size_t p = 0; p < statistic.parts.size(); ++p) {
      const Statistic::Part& part = statistic.parts[p];
      if (part.region != region_) continue;
      Part made{&statistic, static_cast<int>(s), static_cast<int>(p), part.body, &part.columns, nullptr};
      if (statistic.scope != StatScope::Column) {
        made.state = std::make_unique<HostState>(emitter(), *statistic.reduction, module_.lanes);
      }
      group_of(part.columns).parts.push_back(std::move(made));
    }
  }
}

/// An inout parameter is read as it was: who reads it goes before who writes it.
void HostTile::order_groups() {
  struct Use {
    std::set<int> reads, writes;
  };
  const auto use_of = [&](const Group& group) {
    Use use;
    std::set<NodeId> nodes;
    for (const Store* store : group.stores) {
      use.writes.insert(store->param);
      visit_nodes(epilogue_.program.graph, store->value, nodes);
    }
    for (const Part& part : group.parts) visit_nodes(epilogue_.program.graph, part.body, nodes);
    for (const NodeId id : nodes) {
      const Node& node = epilogue_.program.graph[id];
      if (node.kind == NodeKind::Input) use.reads.insert(node.param);
    }
    return use;
  };
  std::vector<Use> uses;
  for (const Group& group : groups_) uses.push_back(use_of(group));
  std::vector<Group> ordered;
  std::vector<bool> done(groups_.size(), false);
  while (ordered.size() < groups_.size()) {
    bool progress = false;
    for (size_t i = 0; i < groups_.size(); ++i) {
      const auto overwritten = [&](size_t other) {
        return other != i && !done[other] && std::any_of(uses[i].writes.begin(), uses[i].writes.end(), [&](int p) {
                 return uses[other].reads.count(p);
               });
      };
      bool ready = !done[i];
      for (size_t other = 0; other < groups_.size() && ready; ++other) ready = !overwritten(other);
      if (!ready) continue;
      done[i] = progress = true;
      ordered.push_back(std::move(groups_[i]));
    }
    if (!progress) {
      evaluator().fail("outputs that overwrite what others still read, in two different regroupings of the columns");
      return;
    }
  }
  groups_ = std::move(ordered);
}

// ---- statistics -----------------------------------------------------------------------------------------------------

// Layouts of a part's workspace, f32 words:
//   Row:    [column tile][word][row]
//   Column: [group of kept rows][word][column] finished, then [row tile][word][column]
//   All:    [row tile][column tile][word]

void HostTile::reset_column_parts() {
  for (Group& group : groups_) {
    for (Part& part : group.parts) {
      if (part.statistic->scope != StatScope::Column) continue;
      const VarFacts facts{.name = "c", .count = width_};
      for_lanes(emitter().root(), number(0), argument(4), facts, [&](const Coord& c, Scope* scope, unsigned lanes) {
        const Reduction& reduction = *part.statistic->reduction;
        for (int w = 0; w < reduction.state_size; ++w) {
          Value* identity = value_of(emitter().real(reduction.identity[w]));
          if (lanes > 1) identity = builder_.CreateVectorSplat(lanes, identity);
          memory_->store(scope, workspace(module_.layout.buffers[part.statistic_index][part.part_index]),
                         column_axes(reduction, w, column_start_ + c), identity);
        }
      });
    }
  }
}

std::vector<ArrayAxis> HostTile::column_axes(const Reduction& reduction, int word, const Coord& column) {
  Value* columns = value_of(extent(epilogue_.regions[region_].extent));
  return {{column}, {(row_tile_ + Coord::of(epilogue_.kept_groups())) * reduction.state_size + Coord(word), columns}};
}

void HostTile::lift_column(Part& part, const Coord& column, const LiftedValue& x, Scope* scope, unsigned lanes) {
  const Reduction& reduction = *part.statistic->reduction;
  Value* buffer = workspace(module_.layout.buffers[part.statistic_index][part.part_index]);
  StateWords state;
  for (int w = 0; w < reduction.state_size; ++w) {
    // Not through memory_->load: that would be placed, and found again, by what the address depends on.
    state.word[w] = val_of(memory_->load_at(scope, buffer, builder_.getFloatTy(), column_axes(reduction, w, column)));
  }
  reduction.emit_lift(emitter(), x, state.word);
  for (int w = 0; w < reduction.state_size; ++w) {
    Value* value = value_of(state.word[w]);
    if (lanes > 1 && !value->getType()->isVectorTy()) value = emitter().at(scope).CreateVectorSplat(lanes, value);
    memory_->store(scope, buffer, column_axes(reduction, w, column), value);
  }
}

void HostTile::reset(StatScope wanted, Scope* at) {
  for (Group& group : groups_) {
    for (Part& part : group.parts) {
      if (part.statistic->scope == wanted) part.state->reset(at);
    }
  }
}

void HostTile::save(StatScope wanted, Scope* at) {
  const Coord column_tile = evaluator().divide(column_start_, Dim(width_)).first;
  for (Group& group : groups_) {
    for (Part& part : group.parts) {
      if (part.statistic->scope != wanted) continue;
      const int words = part.statistic->reduction->state_size;
      Value* buffer = workspace(module_.layout.buffers[part.statistic_index][part.part_index]);
      const StateWords total = part.state->total(at);
      for (int w = 0; w < words; ++w) {
        std::vector<ArrayAxis> axes;
        if (wanted == StatScope::Row) {
          axes = {{row_}, {column_tile * words + Coord(w), value_of(extent(module_.layout.rows))}};
        } else {
          Value* tiles = value_of(tile_count(emitter(), extent(epilogue_.regions[region_].extent), width_));
          Value* per_row = value_of(emitter().int_mul(val_of(tiles), emitter().integer(words)));
          axes = {{row_tile_, per_row}, {column_tile * words + Coord(w)}};
        }
        memory_->store(at, buffer, axes, value_of(total.word[w]));
      }
    }
  }
}

// ---- the walk over the columns --------------------------------------------------------------------------------------

/// c = phase + stride * (base + j): base is affine in the tile's first column, j counts from `begin` to `end`.
HostTile::Outermost HostTile::outermost(const ColumnSpace& columns) {
  Outermost result{Coord(0), number(0), number(0), 0};
  const ColumnDigit& digit = columns.digits[0];
  const int64_t stride = digit.stride.constant().value_or(0);
  int64_t inner = columns.phase % std::max<int64_t>(stride, 1);
  for (size_t i = 1; i < columns.digits.size(); ++i) {
    const auto extent = columns.digits[i].extent.constant(), step = columns.digits[i].stride.constant();
    if (extent && step) inner += (*extent - 1) * *step;
    if (!extent || !step) inner = stride;
  }
  const auto start = stride > 0 ? space_.divide(column_start_, stride) : std::nullopt;
  if (stride <= 0 || inner >= stride || !start || start->second.as_constant() != 0) {
    evaluator().fail("a regrouping of the columns that does not fit the tiles");
    return result;
  }
  const int64_t skipped = columns.phase / stride, phase = columns.phase % stride;
  result.base = start->first - Coord(skipped);
  result.most = ceil_div(width_ - phase, stride);
  Emitter& e = emitter();
  const Val base = evaluator().value_of(result.base), zero = e.integer(0);
  const auto smaller = [&](Val a, Val b) { return e.select(e.compare(Compare::Lt, a, b, NumClass::Int), a, b); };
  const auto larger = [&](Val a, Val b) { return e.select(e.compare(Compare::Gt, a, b, NumClass::Int), a, b); };
  const Val columns_left = val_of(argument(4));
  const Val in_tile = e.int_floordiv(e.int_add(columns_left, e.integer(stride - 1 - phase)), e.integer(stride));
  const Val in_digit = e.int_sub(extent(digit.extent), base);
  result.begin = skipped == 0 ? number(0) : value_of(larger(zero, e.int_sub(zero, base)));
  result.end = value_of(larger(val_of(result.begin), smaller(in_tile, in_digit)));
  return result;
}

/// Where along a digit of constant extent some Put begins or ends: between cuts its answer is the same for all lanes.
std::vector<int64_t> HostTile::cuts(const Group& group, size_t digit) const {
  const int64_t extent = *group.columns->digits[digit].extent.constant();
  std::set<int64_t> places{0, extent};
  const auto scan = [&](NodeId value, const ColumnDigit& own) {
    const auto offset = own.offset.constant();
    if (!offset) return;
    std::set<NodeId> nodes;
    visit_nodes(epilogue_.program.graph, value, nodes);
    for (const NodeId id : nodes) {
      const Node& node = epilogue_.program.graph[id];
      if (node.kind != NodeKind::Put || !(node.dim == own.dim)) continue;
      bool known = node.map.offset.constant().has_value();
      const int64_t first = node.map.offset.constant().value_or(0);
      int64_t span = 1;
      for (const auto& [dim, stride] : node.map.terms) {
        const auto count = dim.extent.constant(), step = stride.constant();
        known = known && count && step;
        span += count && step ? (*count - 1) * *step : 0;
      }
      if (!known) continue;
      for (const int64_t at : {first - *offset, first - *offset + span}) {
        if (at > 0 && at < extent) places.insert(at);
      }
    }
  };
  for (const Store* store : group.stores) scan(store->value, store->columns.digits[digit]);
  for (const Part& part : group.parts) scan(part.body, part.columns->digits[digit]);
  return {places.begin(), places.end()};
}

void HostTile::emit_group(Group& group, Scope* row_scope, const Env& row_env) {
  const std::vector<ColumnDigit>& digits = group.columns->digits;
  if (digits.empty()) {  // one column: in this tile or not
    const Coord from_start = Coord(group.columns->phase) - column_start_;
    Emitter& e = emitter();
    const Val offset = evaluator().value_of(from_start);
    const Val here = e.logical_and(e.compare(Compare::Ge, offset, e.integer(0), NumClass::Int),
                                   e.compare(Compare::Lt, offset, val_of(argument(4)), NumClass::Int));
    for_each(row_scope, number(0), value_of(e.bool_to_int(here)), {.name = "once", .count = 1},
             [&](const Coord&, Scope* scope) { emit_element(group, {}, row_env, scope, 1); });
    return;
  }
  const Outermost outer = outermost(*group.columns);
  if (!evaluator().failure().empty()) return;

  // Lanes run along the innermost digit that fills a vector; smaller ones inside it are written out.
  size_t lane_digit = digits.size() - 1;
  int64_t unrolled = 1;
  while (lane_digit > 0 && *digits[lane_digit].extent.constant() < module_.lanes) {
    unrolled *= *digits[lane_digit].extent.constant();
    --lane_digit;
  }
  if (unrolled > kMaxUnrolled) lane_digit = digits.size() - 1;

  std::vector<Coord> at(digits.size());
  const std::function<void(size_t, Scope*, unsigned)> unroll = [&](size_t i, Scope* scope, unsigned lanes) {
    if (i == digits.size()) return emit_element(group, at, row_env, scope, lanes);
    for (int64_t k = 0; k < *digits[i].extent.constant(); ++k) {
      at[i] = Coord(k);
      unroll(i + 1, scope, lanes);
    }
  };
  // A counter that starts at `begin`; what it counts stays within the tile.
  const auto outer_digit = [&](const Coord& j) {
    space_.assume(outer.base + j, digits[0].extent);
    return outer.base + j;
  };
  const std::function<void(size_t, Scope*)> nest = [&](size_t i, Scope* scope) {
    const std::string& name = digits[i].dim.name;
    if (i < lane_digit) {
      Value* begin = i == 0 ? outer.begin : number(0);
      Value* end = i == 0 ? outer.end : number(*digits[i].extent.constant());
      const int64_t count = i == 0 ? outer.most : *digits[i].extent.constant();
      for_each(scope, begin, end, {.name = name, .count = count}, [&](const Coord& j, Scope* inner) {
        at[i] = i == 0 ? outer_digit(j) : j;
        nest(i + 1, inner);
      });
    } else if (i == 0) {
      const VarFacts facts{.name = name, .count = outer.most};
      for_lanes(scope, outer.begin, outer.end, facts, [&](const Coord& j, Scope* inner, unsigned lanes) {
        at[i] = outer_digit(j);
        unroll(i + 1, inner, lanes);
      });
    } else {
      const std::vector<int64_t> places = cuts(group, i);
      for (size_t piece = 0; piece + 1 < places.size(); ++piece) {
        const int64_t length = places[piece + 1] - places[piece];
        for_lanes(scope, number(0), number(length), {.name = name, .count = length},
                  [&](const Coord& j, Scope* inner, unsigned lanes) {
                    at[i] = Coord(places[piece]) + j;
                    unroll(i + 1, inner, lanes);
                  });
      }
    }
  };
  nest(0, row_scope);
}

void HostTile::emit_element(Group& group, const std::vector<Coord>& digits, const Env& row_env, Scope* scope,
                            unsigned lanes) {
  const auto env_of = [&](const ColumnSpace& columns) {
    Env env = row_env;
    for (size_t i = 0; i < digits.size(); ++i) {
      env.set(columns.digits[i].dim.name, digits[i] + Coord::of(columns.digits[i].offset));
    }
    return env;
  };
  const Graph& graph = epilogue_.program.graph;
  // All values before the first store: an inout parameter is read as it was.
  std::vector<Val> values;
  for (const Store* store : group.stores) values.push_back(evaluator().evaluate(store->value, env_of(store->columns)));
  for (Part& part : group.parts) {
    const LiftedValue x = evaluator().evaluate_lifted(part.body, env_of(*part.columns));
    if (part.statistic->scope != StatScope::Column) {
      part.state->lift(scope, x, lanes);
      continue;
    }
    Coord column(part.columns->phase);
    for (size_t i = 0; i < digits.size(); ++i) {
      column = column + digits[i] * part.columns->digits[i].stride.constant().value_or(0);
    }
    lift_column(part, column, x, scope, lanes);
  }
  for (size_t i = 0; i < values.size(); ++i) {
    const Store& store = *group.stores[i];
    store_element(scope, store.param, store.index, env_of(store.columns), values[i], graph[store.value].num_class);
  }
}

// ---- the accumulator ------------------------------------------------------------------------------------------------

Val HostTile::accumulator(const Coord& row, const Coord& column, Val predicate) {
  const Coord local_row = row - row_start_;
  if (space_.inside(local_row, Dim(0), Dim(module_.layout.tile_rows)) != Answer::Yes) {
    evaluator().fail("a row of the product other than the one at hand");
    return emitter().real(0);
  }
  const std::vector<Dim>& segments = epilogue_.regions[region_].segments;
  const auto axes = [&](size_t segment, const Coord& local) -> std::vector<ArrayAxis> {
    const Coord first = Coord(static_cast<int64_t>(segment) * module_.layout.tile_rows * host_pitch(width_));
    return {{local_row, number(host_pitch(width_))}, {local + first}};
  };
  llvm::Type* real = builder_.getFloatTy();
  // Segments nearer than a tile is wide: a column is in the one that begins last before it.
  std::optional<size_t> holder;
  for (size_t s = 0; s < segments.size(); ++s) {
    const Coord local = column - Coord::of(segments[s]) - column_start_;
    if (space_.inside(local, Dim(0), Dim(width_)) != Answer::Yes) continue;
    if (!holder || (segments[s] - segments[*holder]).constant().value_or(-1) > 0) holder = s;
  }
  if (holder) {
    const Coord local = column - Coord::of(segments[*holder]) - column_start_;
    return val_of(memory_->load(argument(0), real, axes(*holder, local), nullptr));
  }
  if (!predicate) {
    evaluator().fail("column " + space_.to_text(column) + " of the product is not known to be in the tile");
    return emitter().real(0);
  }
  // Which segment holds it turns out when it runs; where the predicate fails it may be none.
  Val value = emitter().real(0);
  for (size_t s = 0; s < segments.size(); ++s) {
    const Coord local = column - Coord::of(segments[s]) - column_start_;
    if (space_.inside(local, Dim(0), Dim(width_)) == Answer::No) continue;
    Val here = evaluator().within(local, Dim(0), Dim(width_), predicate);
    here = evaluator().within(column - Coord::of(segments[s]), Dim(0), epilogue_.regions[region_].extent, here);
    const Val found = val_of(memory_->load(argument(0), real, axes(s, local), value_of(here)));
    value = emitter().select(here, found, value);
  }
  return value;
}

}  // namespace coda
