#include "compiler/epilogue/finish.h"

#include <algorithm>
#include <set>

#include "compiler/epilogue/describe.h"
#include "compiler/epilogue/refusals.h"
#include "dsl/diagnostics.h"

namespace coda {

namespace {

/// Is this a value of each element of the tile, by the names of its rows and its column?
bool covers_tile(const Lowering& l, const std::vector<NamedDim>& dims) {
  return dims.size() == l.roles.rows.size() + 1 && std::all_of(dims.begin(), dims.end(), [&](const NamedDim& dim) {
           return dim == l.roles.column ||
                  std::find(l.roles.rows.begin(), l.roles.rows.end(), dim) != l.roles.rows.end();
         });
}

/// A reduction over the tile's rows or columns of parameters alone: the tile reads them like any other.
bool reduces_beside(const Lowering& l, const Node& node) {
  std::vector<NamedDim> dims = node.dims;
  dims.insert(dims.end(), node.over.begin(), node.over.end());
  return is_reduction(node) && covers_tile(l, dims);
}

/// The outermost reductions of what uses the accumulator, and of tile values beside it. False if the accumulator is
/// used outside of any.
bool find_statistics(Lowering& l, NodeId id, std::set<NodeId>& seen, std::vector<NodeId>& statistics) {
  if (!seen.insert(id).second) return true;
  if (id == l.roles.accumulator) return false;
  if (l.collector.uses_accumulator(id) ? is_reduction(l.graph[id]) : reduces_beside(l, l.graph[id])) {
    statistics.push_back(id);
    return true;
  }
  const std::vector<NodeId> args = l.graph[id].args;
  return std::all_of(args.begin(), args.end(), [&](NodeId arg) { return find_statistics(l, arg, seen, statistics); });
}

struct Scope {
  std::vector<NamedDim> rows, columns;  ///< what is reduced over
  bool all_rows = false;                ///< that are not kept
};

/// What the reduction runs over. False (reported) if it is a part of the rows, but all that are not kept.
bool study(Lowering& l, NodeId statistic, const Unit& about, Scope& scope) {
  const Node& node = l.graph[statistic];
  AffineMap reduced;
  std::set<std::string> covered;
  for (const auto& dim : node.over) {
    if (!l.roles.is_row(dim.name)) {
      scope.columns.push_back(dim);
      continue;
    }
    scope.rows.push_back(dim);
    const auto alias = l.roles.row_alias.find(dim.name);
    if (alias == l.roles.row_alias.end()) covered.insert(dim.name);
    if (alias != l.roles.row_alias.end()) {
      for (const auto& term : alias->second.terms) covered.insert(term.dim.name);
    }
  }
  const auto& rows = l.roles.rows;
  scope.all_rows = covered.size() + static_cast<size_t>(l.roles.kept) == rows.size() &&
                   std::none_of(rows.begin(), rows.begin() + l.roles.kept,
                                [&](const NamedDim& row) { return covered.contains(row.name); });
  if (scope.rows.empty() || scope.all_rows) return true;
  std::vector<std::string> names;
  for (const auto& dim : scope.rows) names.push_back(dim.name);
  l.diagnostics.report(DiagId::E0323, own_span(l.source, node.span, about.span),
                       {describe(l.source, l.graph, statistic), name_list(names), "rows"});
  return false;
}

Dim count_of(const Lowering& l, const Scope& scope) {
  return product(scope.columns) *
         (scope.all_rows ? product({l.roles.rows.begin() + l.roles.kept, l.roles.rows.end()}) : Dim(1));
}

/// The value that is lifted, in terms of rows and of the columns that are reduced over.
NodeId body_of(Lowering& l, NodeId statistic, const std::vector<NamedDim>& inside) {
  const Node node = l.graph[statistic];
  const NodeId body = node.kind == NodeKind::Reduce ? node.args[0] : l.graph.contract(node.args, inside, node.span);
  return l.reindexer.at(body, l.roles.row_alias);
}

const Reduction* reduction_of(const Node& node) {
  return node.kind == NodeKind::Reduce ? node.reduction : find_reduction("sum");
}

int find(const EpilogueProgram& out, NodeId node) {
  for (size_t i = 0; i < out.statistics.size(); ++i) {
    if (out.statistics[i].node == node) return static_cast<int>(i);
  }
  return -1;
}

bool statistics_of(Lowering& l, NodeId value, const Unit& about, std::vector<NodeId>& statistics) {
  std::set<NodeId> seen;
  if (find_statistics(l, value, seen, statistics)) return true;
  LayoutFailure failure;
  failure.detail = "one element of a row, which only one tile knows";
  refuse(l, about, failure);
  return false;
}

/// Everything in the finish stage's value that is not a statistic comes from parameters.
bool check_foreign(Lowering& l, NodeId value, const std::vector<NodeId>& statistics, const Unit& about) {
  const Uses uses = l.collector.collect(value, {statistics.begin(), statistics.end()});
  if (uses.foreign.empty()) return true;
  const Span span = l.graph[uses.foreign[0]].span;
  l.diagnostics.report(DiagId::E0324, own_span(l.source, span, about.span),
                       {describe(l.source, l.graph, uses.foreign[0])});
  return false;
}

}  // namespace

bool add_row_finish(Lowering& l, EpilogueProgram& out, FinishStore store, const Unit& about, std::vector<Unit>& units) {
  std::vector<NodeId> statistics;
  if (!statistics_of(l, store.value, about, statistics)) return false;
  for (const NodeId id : statistics) {
    Scope scope;
    if (!study(l, id, about, scope)) return false;
    const StatScope wanted = scope.all_rows ? StatScope::All : StatScope::Row;
    const std::string text = describe(l.source, l.graph, id);
    if (wanted != store.scope) {
      const Span span = l.graph[id].span;
      l.diagnostics.report(DiagId::E0322, own_span(l.source, span, about.span), {about.name, text});
      return false;
    }
    if (find(out, id) >= 0) continue;
    Statistic statistic{
        .node = id, .reduction = reduction_of(l.graph[id]), .scope = wanted, .count = count_of(l, scope), .parts = {}};
    Unit body{.use = Unit::Use::Statistic,
              .owner = static_cast<int>(out.statistics.size()),
              .value = body_of(l, id, {}),
              .columns = scope.columns,
              .index = {},
              .name = text,
              .span = own_span(l.source, l.graph[id].span, about.span),
              .layout = {}};
    out.statistics.push_back(std::move(statistic));
    if (!settle(l, std::move(body), units)) return false;
  }
  if (!check_foreign(l, store.value, statistics, about)) return false;
  out.finish_stores.push_back(std::move(store));
  return true;
}

bool add_column_finish(Lowering& l, EpilogueProgram& out, const Unit& unit, const RegionPiece& piece) {
  FinishStore store{.param = unit.owner,
                    .value = unit.value,
                    .scope = StatScope::Column,
                    .region = piece.region,
                    .columns = piece.columns,
                    .index = unit.index};
  // A cut piece gets its own statistics: the cut goes into the value, so that each state has one place.
  for (auto& digit : store.columns.digits) {
    if (digit.offset.is_zero() && digit.extent == digit.dim.extent) continue;
    NamedDim part = l.reindexer.fresh(digit.dim);
    part.extent = digit.extent;
    const Substitution at{{digit.dim.name, {.offset = digit.offset, .terms = {{part, Dim(1)}}}}};
    store.value = l.reindexer.at(store.value, at);
    for (auto& map : store.index) map = substitute(map, at);
    digit = {part, part.extent, digit.stride, Dim()};
  }
  std::vector<NodeId> statistics;
  if (!statistics_of(l, store.value, unit, statistics)) return false;
  const Region& region = out.regions[static_cast<size_t>(store.region)];
  for (const NodeId id : statistics) {
    Scope scope;
    if (!study(l, id, unit, scope)) return false;
    const Node node = l.graph[id];
    const std::string text = describe(l.source, l.graph, id);
    if (!scope.all_rows) {
      const Uses uses = l.collector.collect(id);
      const Span span = own_span(l.source, node.span, unit.span);
      if (uses.reductions.size() > 1) {  // of statistics, over a part of the columns
        l.diagnostics.report(DiagId::E0321, span, {text, describe(l.source, l.graph, uses.reductions[1])});
      } else {
        l.diagnostics.report(DiagId::E0322, span, {unit.name, text});
      }
      return false;
    }
    if (!scope.columns.empty() && node.kind == NodeKind::Reduce) {
      std::vector<std::string> names;
      for (const auto& dim : scope.columns) names.push_back(dim.name);
      l.diagnostics.report(DiagId::E0323, own_span(l.source, node.span, unit.span),
                           {text, name_list(names), "columns"});
      return false;
    }
    if (find(out, id) >= 0) continue;
    const NodeId body = body_of(l, id, scope.columns);
    std::vector<NamedDim> columns;
    for (const auto& dim : node.dims) {
      if (!l.roles.is_row(dim.name)) columns.push_back(dim);
    }
    LayoutFailure failure;
    const Uses uses = l.collector.collect(body);
    if (!check_rows(l, unit, uses, false)) return false;
    auto layout = lay_out(columns, uses.accumulator, l.roles.column, l.facts, failure);
    bool placed = false;
    for (size_t s = 0; layout && s < region.segments.size() && !placed; ++s) {
      const auto distance = (layout->segments[0] - region.segments[s]).constant();
      if (!distance || *distance < 0 || *distance >= region.granule) continue;
      layout->columns.phase += *distance;
      placed = true;
    }
    if (!placed) {
      if (layout) failure.detail = "the statistic `" + text + "` lies on other columns than its use";
      refuse(l, unit, failure);
      return false;
    }
    Statistic statistic{.node = id,
                        .reduction = reduction_of(node),
                        .scope = StatScope::Column,
                        .count = count_of(l, scope),
                        .parts = {}};
    statistic.parts.push_back({store.region, body, layout->columns});
    out.statistics.push_back(std::move(statistic));
  }
  if (!check_foreign(l, store.value, statistics, unit)) return false;
  out.finish_stores.push_back(std::move(store));
  return true;
}

}  // namespace coda
