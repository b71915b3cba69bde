#include "compiler/epilogue/rowwise_roles.h"

#include <algorithm>
#include <functional>
#include <tuple>

namespace coda {

namespace {

using Names = std::set<std::string>;

/// Elements that a reduction may have which is repeated for each element of a row.
constexpr int64_t kMostRepeated = 256;

bool is_short(const std::vector<NamedDim>& over) {
  int64_t elements = 1;
  for (const NamedDim& dim : over) {
    const auto extent = dim.extent.constant();
    if (!extent || *extent > kMostRepeated) return false;
    elements *= std::max<int64_t>(*extent, 1);
  }
  return elements <= kMostRepeated;
}

Names names_of(const std::vector<NamedDim>& dims) {
  Names names;
  for (const NamedDim& dim : dims) names.insert(dim.name);
  return names;
}

/// All reductions below a value, itself included.
void all_reductions(const Graph& graph, NodeId id, std::set<NodeId>& seen, std::set<NodeId>& found) {
  if (!seen.insert(id).second) return;
  if (is_reduction(graph[id])) found.insert(id);
  for (const NodeId arg : graph[id].args) all_reductions(graph, arg, seen, found);
}

class Chooser {
 public:
  Chooser(const Program& program, const Graph& graph, const std::vector<RowPiece>& pieces)
      : program_(program), graph_(graph), pieces_(pieces) {
    for (const RowPiece& piece : pieces) {
      std::set<NodeId> seen, found;
      all_reductions(graph, piece.value, seen, found);
      reductions_.push_back(found);
      UseCollector collector(graph, kNoNode);
      const Uses uses = collector.collect(piece.value);
      for (const Read& read : uses.inputs) {
        if (!read.at.empty()) reads_.push_back(read);
      }
    }
  }

  RowChoice run() {
    RowChoice best;
    Score best_score;
    bool first = true;
    for (const Names& candidate : candidates()) {
      const Judgement judgement = judge(candidate);
      const int size = static_cast<int>(candidate.size());
      const bool possible = judgement.obstacle.kind == RowObstacle::Kind::None;
      const Score score{possible   ? 0
                        : size > 0 ? 1
                                   : 2,
                        judgement.obstacle.kind, judgement.nested, far_apart(candidate), possible ? -size : size};
      if (!first && !(score < best_score)) continue;
      first = false;
      best_score = score;
      best = {in_order(candidate), judgement.obstacle};
    }
    return best;
  }

 private:
  /// Less is better: impossible, and why; reductions repeated for each element; neighbours in memory that lie in
  /// different rows; fewer rows, or more of them where it is impossible.
  using Score = std::tuple<int, RowObstacle::Kind, int, int, int>;
  struct Judgement {
    RowObstacle obstacle;
    int nested = 0;
  };

  std::vector<Names> candidates() const {
    std::vector<Names> all;
    const auto add = [&](const std::vector<NamedDim>& dims) {
      const Names names = names_of(dims);
      if (std::find(all.begin(), all.end(), names) == all.end()) all.push_back(names);
    };
    const auto with_and_without_last = [&](std::vector<NamedDim> dims) {
      add(dims);
      if (!dims.empty()) dims.pop_back();
      add(dims);
    };
    for (size_t i = 0; i < pieces_.size(); ++i) {
      with_and_without_last(pieces_[i].dims);
      for (const NodeId id : reductions_[i]) {
        add(graph_[id].dims);
        with_and_without_last(memory_order(program_, graph_, reads_, graph_[id].over));
      }
    }
    add({});
    const size_t single = all.size();
    for (size_t i = 0; i < single; ++i) {
      for (size_t j = i + 1; j < single; ++j) {
        Names both;
        std::set_intersection(all[i].begin(), all[i].end(), all[j].begin(), all[j].end(),
                              std::inserter(both, both.end()));
        if (std::find(all.begin(), all.end(), both) == all.end()) all.push_back(both);
      }
    }
    return all;
  }

  Judgement judge(const Names& rows) const {
    Judgement result;
    for (size_t i = 0; i < pieces_.size() && result.obstacle.kind == RowObstacle::Kind::None; ++i) {
      const RowPiece& piece = pieces_[i];
      const size_t present = static_cast<size_t>(std::count_if(
          piece.dims.begin(), piece.dims.end(), [&](const NamedDim& d) { return rows.contains(d.name); }));
      if (present == rows.size()) {
        inside_rows(piece.value, rows, i, result);
      } else if (present == 0) {
        at_the_end(piece, rows, i, result);
      } else {
        result.obstacle = {RowObstacle::Kind::Rows, i, kNoNode};
      }
    }
    return result;
  }

  /// Everything below is reduced inside a row.
  void inside_rows(NodeId value, const Names& rows, size_t piece, Judgement& result) const {
    std::set<NodeId> seen, found;
    all_reductions(graph_, value, seen, found);
    for (const NodeId id : found) {
      if (over_rows(graph_[id], rows) != OverRows::None) {
        result.obstacle = {RowObstacle::Kind::Feedback, piece, id};
        return;
      }
      if (covers(rows, graph_[id].dims)) continue;
      ++result.nested;
      if (is_short(graph_[id].over)) continue;
      result.obstacle = {RowObstacle::Kind::Inner, piece, id};
      return;
    }
  }

  void at_the_end(const RowPiece& piece, const Names& rows, size_t index, Judgement& result) const {
    for (const NodeId id : outermost_reductions(graph_, piece.value)) {
      const Node& node = graph_[id];
      const OverRows over = over_rows(node, rows);
      const bool of_columns = node.over.size() > rows.size() && !node.dims.empty();
      if (over == OverRows::None) {
        inside_rows(id, rows, index, result);  // of vectors alone
        ++result.nested;
        if (!is_short(node.over)) result.obstacle = {RowObstacle::Kind::Inner, index, id};
      } else if (over == OverRows::Some || (of_columns && !sums_short_columns(node, rows))) {
        result.obstacle = {RowObstacle::Kind::Part, index, id};
      } else if (node.dims.empty() != piece.dims.empty()) {
        result.obstacle = {RowObstacle::Kind::Mixed, index, id};
      } else {
        if (of_columns) ++result.nested;
        for (const NodeId arg : node.args) inside_rows(arg, rows, index, result);
      }
      if (result.obstacle.kind != RowObstacle::Kind::None) return;
    }
  }

  /// What is summed over besides the rows is summed for each element.
  static bool sums_short_columns(const Node& node, const Names& rows) {
    std::vector<NamedDim> columns = node.over;
    std::erase_if(columns, [&](const NamedDim& d) { return rows.contains(d.name); });
    return node.kind == NodeKind::Contract && is_short(columns);
  }

  /// How many tensors have neighbours in memory that fall into different rows although they have columns too.
  int far_apart(const Names& rows) const {
    std::set<int> params;
    const auto in_rows = [&](const AffineMap& map) {
      return std::any_of(map.terms.begin(), map.terms.end(),
                         [&](const auto& t) { return rows.contains(original_name(t.dim.name)); });
    };
    const auto in_columns = [&](const AffineMap& map) {
      return std::any_of(map.terms.begin(), map.terms.end(),
                         [&](const auto& t) { return !rows.contains(original_name(t.dim.name)); });
    };
    for (const Read& read : reads_) {
      const int param = graph_[read.leaf].param;
      const auto& dims = program_.params[static_cast<size_t>(param)].dims;
      const bool columns =
          std::any_of(read.at.begin(), read.at.end(), [&](const auto& entry) { return in_columns(entry.second); });
      if (columns && in_rows(read.at.at(dims.back().name))) params.insert(param);
    }
    int count = static_cast<int>(params.size());
    for (const RowPiece& piece : pieces_) {
      const bool columns =
          std::any_of(piece.dims.begin(), piece.dims.end(), [&](const NamedDim& d) { return !rows.contains(d.name); });
      if (columns && !piece.dims.empty() && rows.contains(piece.dims.back().name)) ++count;
    }
    // Something must be left to walk along.
    const bool walks =
        std::any_of(reductions_.begin(), reductions_.end(), [](const auto& found) { return !found.empty(); }) ||
        std::any_of(pieces_.begin(), pieces_.end(), [&](const RowPiece& piece) { return !covers(rows, piece.dims); });
    return count + (walks || rows.empty() ? 0 : 1);
  }

  std::vector<NamedDim> in_order(const Names& names) const {
    std::vector<NamedDim> rows;
    const auto add = [&](const NamedDim& dim) {
      const bool known = std::find(rows.begin(), rows.end(), dim) != rows.end();
      if (names.contains(dim.name) && !known) rows.push_back(dim);
    };
    for (const RowPiece& piece : pieces_) std::for_each(piece.dims.begin(), piece.dims.end(), add);
    for (const auto& found : reductions_) {
      for (const NodeId id : found) {
        const std::vector<NamedDim> over = memory_order(program_, graph_, reads_, graph_[id].over);
        std::for_each(over.begin(), over.end(), add);
      }
    }
    return rows;
  }

  const Program& program_;
  const Graph& graph_;
  const std::vector<RowPiece>& pieces_;
  std::vector<std::set<NodeId>> reductions_;  // by piece
  std::vector<Read> reads_;                   // of tensors
};

void add_outermost(const Graph& graph, NodeId id, std::set<NodeId>& seen, std::vector<NodeId>& found) {
  if (!seen.insert(id).second) return;
  if (is_reduction(graph[id])) return found.push_back(id);
  for (const NodeId arg : graph[id].args) add_outermost(graph, arg, seen, found);
}

}  // namespace

OverRows over_rows(const Node& reduction, const std::set<std::string>& rows) {
  const auto count = static_cast<size_t>(std::count_if(reduction.over.begin(), reduction.over.end(),
                                                       [&](const NamedDim& d) { return rows.contains(d.name); }));
  return count == 0 ? OverRows::None : count == rows.size() ? OverRows::All : OverRows::Some;
}

bool covers(const std::set<std::string>& names, const std::vector<NamedDim>& dims) {
  return std::all_of(dims.begin(), dims.end(), [&](const NamedDim& d) { return names.contains(d.name); });
}

std::vector<NodeId> outermost_reductions(const Graph& graph, NodeId value) {
  std::set<NodeId> seen;
  std::vector<NodeId> found;
  add_outermost(graph, value, seen, found);
  return found;
}

std::vector<NamedDim> memory_order(const Program& program, const Graph& graph, const std::vector<Read>& reads,
                                   const std::vector<NamedDim>& dims) {
  for (const Read& read : reads) {
    std::vector<NamedDim> ordered;
    for (const NamedDim& axis : program.params[static_cast<size_t>(graph[read.leaf].param)].dims) {
      std::vector<AffineMap::Term> terms = read.at.at(axis.name).terms;
      std::stable_sort(terms.begin(), terms.end(), [](const auto& a, const auto& b) {
        return a.stride.constant().value_or(INT64_MAX) > b.stride.constant().value_or(INT64_MAX);
      });
      for (const auto& term : terms) {
        const auto wanted = std::find_if(dims.begin(), dims.end(),
                                         [&](const NamedDim& d) { return d.name == original_name(term.dim.name); });
        if (wanted == dims.end() || std::find(ordered.begin(), ordered.end(), *wanted) != ordered.end()) continue;
        ordered.push_back(*wanted);
      }
    }
    if (ordered.size() == dims.size()) return ordered;
  }
  return dims;
}

RowChoice choose_rows(const Program& program, const Graph& graph, const std::vector<RowPiece>& pieces) {
  return Chooser(program, graph, pieces).run();
}

}  // namespace coda
