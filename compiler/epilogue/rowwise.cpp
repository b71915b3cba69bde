#include "compiler/epilogue/rowwise.h"

#include <algorithm>

#include "compiler/epilogue/describe.h"
#include "compiler/epilogue/inout.h"
#include "compiler/epilogue/rowwise_roles.h"
#include "compiler/epilogue/unit.h"
#include "dsl/diagnostics.h"

namespace coda {

namespace {

class RowLowerer {
 public:
  RowLowerer(const Program& program, Reindexer& reindexer, const DimFacts& facts, EpilogueProgram& out,
             Diagnostics& diagnostics)
      : source_(program),
        graph_(out.program.graph),
        reindexer_(reindexer),
        facts_(facts),
        out_(out),
        diagnostics_(diagnostics) {}

  bool run(const std::vector<NodeId>& values) {
    make_pieces(values);
    if (!no_sum_of_integers()) return false;
    const RowChoice choice = choose_rows(out_.program, graph_, pieces_);
    if (choice.obstacle.kind != RowObstacle::Kind::None) return refuse(choice);
    out_.rows = choice.rows;
    for (const NamedDim& row : out_.rows) row_names_.insert(row.name);
    for (const RowPiece& piece : pieces_) emit(piece);

    Roles roles;
    roles.rows = out_.rows;
    UseCollector collector(graph_, kNoNode);
    Lowering lowering{source_, graph_, reindexer_, facts_, roles, collector, diagnostics_};
    return check_inouts(lowering, out_);
  }

 private:
  NamedDim bound(const NamedDim& dim) const { return {dim.name, dim.extent.substitute(source_.bound)}; }

  void make_pieces(const std::vector<NodeId>& values) {
    for (size_t i = 0; i < values.size(); ++i) {
      const auto& output = source_.outputs[i];
      const Param& target = source_.params[static_cast<size_t>(output.param)];
      RowPiece piece{.param = output.param, .dims = {}, .index = {}, .name = target.name, .span = {}};
      piece.value = reindexer_.at(values[i], {});
      piece.span = own_span(source_, graph_[values[i]].span, own_span(source_, output.span, target.span));
      for (const NamedDim& dim : target.dims) {
        piece.dims.push_back(bound(dim));
        piece.index.push_back(affine(piece.dims.back()));
      }
      cut_at_joins(graph_, reindexer_, facts_, std::move(piece), pieces_);
    }
  }

  /// States of reductions are f32.
  bool no_sum_of_integers() {
    std::set<NodeId> seen;
    std::vector<std::pair<NodeId, const RowPiece*>> open;
    for (const RowPiece& piece : pieces_) open.emplace_back(piece.value, &piece);
    while (!open.empty()) {
      const auto [id, piece] = open.back();
      open.pop_back();
      if (!seen.insert(id).second) continue;
      const Node& node = graph_[id];
      if (node.kind == NodeKind::Contract && !node.over.empty() && node.num_class == NumClass::Int) {
        diagnostics_.report(DiagId::E0343, own_span(source_, node.span, piece->span), {describe(source_, graph_, id)});
        return false;
      }
      for (const NodeId arg : node.args) open.emplace_back(arg, piece);
    }
    return true;
  }

  bool refuse(const RowChoice& choice) {
    const RowPiece& piece = pieces_[choice.obstacle.piece];
    const NodeId reduction = choice.obstacle.reduction;
    std::vector<std::string> names;
    for (const NamedDim& row : choice.rows) names.push_back(row.name);
    const std::string rows = name_list(names);
    if (choice.obstacle.kind == RowObstacle::Kind::Rows) {
      diagnostics_.report(DiagId::E0340, piece.span, {piece.name, rows});
      return false;
    }
    const std::string text = describe(source_, graph_, reduction);
    const Span span = own_span(source_, graph_[reduction].span, piece.span);
    switch (choice.obstacle.kind) {
      case RowObstacle::Kind::Feedback:
        diagnostics_.report(DiagId::E0341, span, {text, rows, piece.name})
            .notes.push_back({piece.span, "it is needed here"});
        break;
      case RowObstacle::Kind::Inner:
        diagnostics_.report(DiagId::E0345, span, {text, rows.empty() ? "the tensor" : "a row of " + rows});
        break;
      case RowObstacle::Kind::Part:
        diagnostics_.report(DiagId::E0342, span, {text, rows});
        break;
      default:
        diagnostics_.report(DiagId::E0344, span, {piece.name, text});
        break;
    }
    return false;
  }

  // ---- what is known to be possible ---------------------------------------------------------------------------------

  bool is_row(const NamedDim& dim) const { return row_names_.contains(dim.name); }

  std::vector<NamedDim> columns_of(const std::vector<NamedDim>& dims) const {
    std::vector<NamedDim> columns;
    for (const NamedDim& dim : dims) {
      if (!is_row(dim)) columns.push_back(dim);
    }
    return columns;
  }

  /// Walks of the same extents share a region.
  int region_of(const std::vector<NamedDim>& columns, ColumnSpace& space) {
    Dim stride(1);
    for (size_t i = columns.size(); i-- > 0;) {
      space.digits.insert(space.digits.begin(), {columns[i], columns[i].extent, stride, Dim()});
      stride = stride * columns[i].extent;
    }
    for (size_t r = 0; r < walks_.size(); ++r) {
      const bool same = std::equal(columns.begin(), columns.end(), walks_[r].begin(), walks_[r].end(),
                                   [](const NamedDim& a, const NamedDim& b) { return a.extent == b.extent; });
      if (same) return static_cast<int>(r);
    }
    walks_.push_back(columns);
    out_.regions.push_back({.extent = stride, .segments = {Dim()}});
    return static_cast<int>(walks_.size()) - 1;
  }

  void emit(const RowPiece& piece) {
    const bool in_rows = covers_rows(piece.dims);
    const std::vector<NamedDim> columns = columns_of(piece.dims);
    if (in_rows) row_statistics(piece.value);
    if (in_rows && !columns.empty()) {
      Store store{.param = piece.param, .value = piece.value, .columns = {}, .index = piece.index};
      store.region = region_of(columns, store.columns);
      out_.stores.push_back(std::move(store));
      return;
    }
    FinishStore store{.param = piece.param,
                      .value = piece.value,
                      .scope = in_rows           ? StatScope::Row
                               : columns.empty() ? StatScope::All
                                                 : StatScope::Column,
                      .columns = {},
                      .index = piece.index};
    if (store.scope == StatScope::Column) store.region = region_of(columns, store.columns);
    if (!in_rows) final_statistics(piece);
    out_.finish_stores.push_back(std::move(store));
  }

  bool covers_rows(const std::vector<NamedDim>& dims) const {
    return std::all_of(out_.rows.begin(), out_.rows.end(),
                       [&](const NamedDim& row) { return std::find(dims.begin(), dims.end(), row) != dims.end(); });
  }

  static const Reduction* reduction_of(const Node& node) {
    return node.kind == NodeKind::Reduce ? node.reduction : find_reduction("sum");
  }

  bool known(NodeId id) const {
    return std::any_of(out_.statistics.begin(), out_.statistics.end(),
                       [&](const Statistic& s) { return s.node == id; });
  }

  std::vector<NamedDim> memory_order_of(NodeId body, const std::vector<NamedDim>& dims) {
    UseCollector collector(graph_, kNoNode);
    std::vector<Read> reads;
    for (const Read& read : collector.collect(body).inputs) {
      if (!read.at.empty()) reads.push_back(read);
    }
    return memory_order(out_.program, graph_, reads, dims);
  }

  /// Adds the statistics of a row below `value`, those that others need first.
  void row_statistics(NodeId value) {
    if (!visited_.insert(value).second) return;
    const Node node = graph_[value];
    const bool whole = is_reduction(node) && covers(row_names_, node.dims);
    for (const NodeId arg : node.args) row_statistics(arg);
    if (!whole || known(value)) return;
    const NodeId body = node.kind == NodeKind::Reduce ? node.args[0] : graph_.contract(node.args, {}, node.span);
    add_statistic(value, StatScope::Row, body, memory_order_of(body, node.over));
  }

  void final_statistics(const RowPiece& piece) {
    for (const NodeId id : outermost_reductions(graph_, piece.value)) {
      const Node node = graph_[id];
      if (known(id) || over_rows(node, row_names_) != OverRows::All) continue;
      if (node.dims.empty()) {
        const NodeId body = node.kind == NodeKind::Reduce ? node.args[0] : graph_.contract(node.args, {}, node.span);
        row_statistics(body);
        add_statistic(id, StatScope::All, body, memory_order_of(body, columns_of(node.over)));
        continue;
      }
      // What is summed over besides the rows is summed within each element.
      const NodeId body =
          node.kind == NodeKind::Reduce ? node.args[0] : graph_.contract(node.args, columns_of(node.over), node.span);
      row_statistics(body);
      std::vector<NamedDim> columns;
      for (const NamedDim& dim : piece.dims) {
        if (std::find(node.dims.begin(), node.dims.end(), dim) != node.dims.end()) columns.push_back(dim);
      }
      add_statistic(id, StatScope::Column, body, columns);
    }
  }

  void add_statistic(NodeId id, StatScope scope, NodeId body, const std::vector<NamedDim>& columns) {
    const Node& node = graph_[id];
    Statistic statistic{.node = id, .reduction = reduction_of(node), .scope = scope, .count = Dim(1), .parts = {}};
    for (const NamedDim& dim : node.over) statistic.count = statistic.count * dim.extent;
    std::vector<RowPiece> pieces;
    RowPiece whole{.value = body, .dims = columns, .index = {}, .name = {}, .span = {}};
    if (scope == StatScope::Row) {
      cut_at_joins(graph_, reindexer_, facts_, std::move(whole), pieces);
    } else {
      pieces.push_back(std::move(whole));
    }
    for (const RowPiece& piece : pieces) {
      Statistic::Part part{.body = piece.value, .columns = {}};
      if (pieces.size() > 1) row_statistics(piece.value);
      part.region = region_of(pieces.size() > 1 ? memory_order_of(piece.value, piece.dims) : piece.dims, part.columns);
      statistic.parts.push_back(std::move(part));
    }
    out_.statistics.push_back(std::move(statistic));
  }

  const Program& source_;
  Graph& graph_;
  Reindexer& reindexer_;
  const DimFacts& facts_;
  EpilogueProgram& out_;
  Diagnostics& diagnostics_;
  std::vector<RowPiece> pieces_;
  std::set<std::string> row_names_;
  std::set<NodeId> visited_;
  std::vector<std::vector<NamedDim>> walks_;  // by region
};

}  // namespace

std::set<std::string> column_divisors(const EpilogueProgram& epilogue) {
  std::set<std::string> symbols;
  if (!epilogue.is_rowwise()) return symbols;
  const auto visit = [&](const ColumnSpace& columns) {
    for (size_t i = 1; i < columns.digits.size(); ++i) symbols.merge(columns.digits[i].extent.symbols());
  };
  for (const Store& store : epilogue.stores) visit(store.columns);
  for (const Statistic& statistic : epilogue.statistics) {
    for (const Statistic::Part& part : statistic.parts) visit(part.columns);
  }
  for (const FinishStore& store : epilogue.finish_stores) visit(store.columns);
  return symbols;
}

bool lower_rowwise(const Program& program, const std::vector<NodeId>& values, Reindexer& reindexer,
                   const DimFacts& facts, EpilogueProgram& out, Diagnostics& diagnostics) {
  return RowLowerer(program, reindexer, facts, out, diagnostics).run(values);
}

}  // namespace coda
