#include "interpret.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "compiler/ir/meaning.h"

namespace coda::test {

namespace {

using Point = std::map<std::string, int64_t>;

struct Target {
  int param;
  size_t element;
  double value;
};

class Interpreter {
 public:
  Interpreter(const EpilogueProgram& epilogue, const Bindings& bindings, Tensors tensors)
      : e_(epilogue), graph_(epilogue.program.graph), bindings_(bindings), before_(std::move(tensors)) {
    result_.tensors = before_;
    for (size_t p = 0; p < e_.program.params.size(); ++p) {
      if (e_.program.params[p].role != Param::Role::Out) continue;
      size_t count = 1;
      for (const auto& dim : e_.program.params[p].dims) count *= static_cast<size_t>(number(dim.extent));
      result_.tensors[p].assign(count, std::nan(""));
    }
    written_.resize(e_.program.params.size());
  }

  Interpreted run() {
    row_count_ = 1;
    for (const auto& row : e_.rows) row_count_ *= number(row.extent);
    rows_in_group_ = number(e_.batches_in_group()) * number(e_.rows_in_batch());
    multiply();
    states_.resize(e_.statistics.size());
    for (size_t region = 0; region < e_.regions.size(); ++region) walk_region(static_cast<int>(region));
    finishing_ = true;
    for (group_ = 0; group_ < number(e_.kept_groups()); ++group_) {
      for (size_t region = 0; region < e_.regions.size(); ++region) finish_columns(static_cast<int>(region));
      region_ = -1;
      std::vector<Target> whole;
      for (const auto& store : e_.finish_stores) {
        if (store.scope == StatScope::All) {
          whole.push_back(target(store.param, store.index, store.value, group_point()));
        }
      }
      write(whole);
    }
    for (row_ = 0; row_ < row_count_; ++row_) {
      std::vector<Target> targets;
      for (const auto& store : e_.finish_stores) {
        if (store.scope == StatScope::Row)
          targets.push_back(target(store.param, store.index, store.value, row_point()));
      }
      write(targets);
    }
    return std::move(result_);
  }

 private:
  int64_t number(const Dim& dim) const { return dim.evaluate(bindings_).value(); }
  int64_t mapped(const AffineMap& map, const Point& point) const {
    int64_t at = number(map.offset);
    for (const auto& term : map.terms) at += number(term.stride) * point.at(term.dim.name);
    return at;
  }
  void violation(const std::string& what) {
    if (result_.violations.size() < 10) result_.violations.push_back(what);
  }

  size_t offset(int param, const std::vector<int64_t>& index) {
    const Param& p = e_.program.params[static_cast<size_t>(param)];
    size_t at = 0;
    for (size_t axis = 0; axis < index.size(); ++axis) {
      const int64_t extent = number(p.dims[axis].extent);
      if (index[axis] < 0 || index[axis] >= extent) {
        violation("index " + std::to_string(index[axis]) + " of axis " + std::to_string(axis) + " of " + p.name);
        return 0;
      }
      at = at * static_cast<size_t>(extent) + static_cast<size_t>(index[axis]);
    }
    return at;
  }

  /// The element of an operand at a batch number and an outer number, split over their axes, and a depth.
  double operand(const GemmOperand& operand, int64_t batch, int64_t outer, int64_t depth) {
    const Param& p = e_.program.params[static_cast<size_t>(operand.param)];
    std::vector<int64_t> index(p.dims.size(), 0);
    const auto split = [&](const std::vector<int>& axes, int64_t rest) {
      for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
        const int64_t extent = number(p.dims[static_cast<size_t>(*axis)].extent);
        index[static_cast<size_t>(*axis)] = rest % extent;
        rest /= extent;
      }
    };
    if (operand.gathered()) {
      const Param& list = e_.program.params[static_cast<size_t>(operand.index_param)];
      std::vector<int64_t> at(list.dims.size(), 0);
      int64_t rest = outer;
      for (auto axis = operand.index_axes.rbegin(); axis != operand.index_axes.rend(); ++axis) {
        const int64_t extent = number(list.dims[static_cast<size_t>(*axis)].extent);
        at[static_cast<size_t>(*axis)] = rest % extent;
        rest /= extent;
      }
      outer = static_cast<int64_t>(before_[static_cast<size_t>(operand.index_param)][offset(operand.index_param, at)]);
      if (outer < 0 || outer >= number(p.dims[static_cast<size_t>(operand.outer_axes[0])].extent)) return 0;
    }
    split(operand.outer_axes, outer);
    split(operand.batch_axes, batch);
    std::vector<int> depth_axes = operand.outer_depth_axes;
    depth_axes.push_back(operand.depth_axis);
    split(depth_axes, depth);
    return before_[static_cast<size_t>(operand.param)][offset(operand.param, index)];
  }

  void multiply() {
    const int64_t columns = number(e_.column.extent), in_batch = number(e_.rows_in_batch());
    accumulator_.assign(static_cast<size_t>(row_count_ * columns), 0);
    for (const GemmTerm& term : e_.terms()) {
      const double scale = term.scale == kNoNode ? 1 : at(term.scale, {});
      const int64_t depth = number(term.depth);
      for (int64_t r = 0; r < row_count_; ++r) {
        for (int64_t n = 0; n < columns; ++n) {
          double& sum = accumulator_[static_cast<size_t>(r * columns + n)];
          for (int64_t k = 0; k < depth; ++k) {
            sum += operand(term.a, r / in_batch, r % in_batch, k) * operand(term.b, r / in_batch, n, k);
          }
          sum *= scale;
        }
      }
    }
  }

  Point row_point() const {
    Point point;
    int64_t rest = row_;
    for (auto row = e_.rows.rbegin(); row != e_.rows.rend(); ++row) {
      point[row->name] = rest % number(row->extent);
      rest /= number(row->extent);
    }
    return point;
  }

  /// The kept rows of the group at hand.
  Point group_point() const {
    Point point;
    int64_t rest = group_;
    for (int i = e_.kept; i-- > 0;) {
      const NamedDim& row = e_.rows[static_cast<size_t>(i)];
      point[row.name] = rest % number(row.extent);
      rest /= number(row.extent);
    }
    return point;
  }
  /// Where the state of a statistic lies: of a row, or of a column (0: all) of the group.
  std::pair<int64_t, int64_t> place(const Statistic& statistic, int64_t column) const {
    if (statistic.scope == StatScope::Row) return {row_, 0};
    return {group_, statistic.scope == StatScope::Column ? column : 0};
  }

  /// Adds the digits of column_; false if it has none.
  bool column_point(const ColumnSpace& columns, Point& point) const {
    int64_t rest = column_ - columns.phase;
    for (const auto& digit : columns.digits) {
      const int64_t stride = number(digit.stride);
      if (rest < 0) return false;
      const int64_t value = rest / stride;
      if (value >= number(digit.extent)) return false;
      point[digit.dim.name] = number(digit.offset) + value;
      rest -= value * stride;
    }
    return rest == 0;
  }

  void walk_region(int region) {
    region_ = region;
    for (row_ = 0; row_ < row_count_; ++row_) {
      group_ = row_ / rows_in_group_;
      for (column_ = 0; column_ < number(e_.regions[static_cast<size_t>(region)].extent); ++column_) {
        std::vector<Target> targets;
        for (const auto& store : e_.stores) {
          Point point = row_point();
          if (store.region != region || !column_point(store.columns, point)) continue;
          targets.push_back(target(store.param, store.index, store.value, point));
        }
        for (size_t s = 0; s < e_.statistics.size(); ++s) {
          for (const auto& part : e_.statistics[s].parts) {
            Point point = row_point();
            if (part.region == region && column_point(part.columns, point)) lift(s, lifted(part.body, point));
          }
        }
        write(targets);
      }
    }
  }

  std::array<double, kMaxStateWords> lifted(NodeId body, const Point& point) {
    std::array<double, kMaxStateWords> values{};
    size_t count = 0;
    for (const NodeId part : lifted_parts(e_.program.graph, body)) values[count++] = at(part, point);
    return values;
  }
  void lift(size_t s, const std::array<double, kMaxStateWords>& values) {
    const Statistic& statistic = e_.statistics[s];
    statistic.reduction->lift(values.data(), state(s, place(statistic, column_)));
  }
  double* state(size_t s, std::pair<int64_t, int64_t> key) {
    const auto [it, fresh] = states_[s].try_emplace(key);
    if (fresh) std::copy_n(e_.statistics[s].reduction->identity, kMaxStateWords, it->second.begin());
    return it->second.data();
  }

  void finish_columns(int region) {
    region_ = region;
    for (column_ = 0; column_ < number(e_.regions[static_cast<size_t>(region)].extent); ++column_) {
      std::vector<Target> targets;
      for (const auto& store : e_.finish_stores) {
        Point point = group_point();
        if (store.scope != StatScope::Column || store.region != region || !column_point(store.columns, point)) continue;
        targets.push_back(target(store.param, store.index, store.value, point));
      }
      write(targets);
    }
  }

  Target target(int param, const std::vector<AffineMap>& index, NodeId value, const Point& point) {
    std::vector<int64_t> at_index;
    for (const auto& map : index) at_index.push_back(mapped(map, point));
    return {param, offset(param, at_index), at(value, point)};
  }
  void write(const std::vector<Target>& targets) {
    for (const Target& t : targets) {
      const Param& p = e_.program.params[static_cast<size_t>(t.param)];
      if (!written_[static_cast<size_t>(t.param)].insert(t.element).second) violation(p.name + " is written twice");
      result_.tensors[static_cast<size_t>(t.param)][t.element] = t.value;
      if (p.role == Param::Role::InOut) before_[static_cast<size_t>(t.param)][t.element] = t.value;
    }
  }

  double accumulator(const Point& point) {
    int64_t row = 0;
    for (const auto& dim : e_.rows) row = row * number(dim.extent) + point.at(dim.name);
    const int64_t column = point.at(e_.column.name), columns = number(e_.column.extent);
    if (column < 0 || column >= columns) {
      violation("column " + std::to_string(column));
      return 0;
    }
    if (finishing_) violation("the accumulator is used in the finish stage");
    if (row != row_) violation("row " + std::to_string(row) + " is used for row " + std::to_string(row_));
    const Region& region = e_.regions[static_cast<size_t>(region_)];
    bool near = false;
    for (const auto& segment : region.segments) {
      const int64_t c = column - number(segment);
      near = near || (c >= 0 && c < number(region.extent) && c / region.granule == column_ / region.granule);
    }
    if (!near) violation("column " + std::to_string(column) + " is used for coordinate " + std::to_string(column_));
    return accumulator_[static_cast<size_t>(row * columns + column)];
  }

  std::optional<double> statistic(NodeId id, const Point& point) {
    for (size_t s = 0; finishing_ && s < e_.statistics.size(); ++s) {
      const Statistic& statistic = e_.statistics[s];
      if (statistic.node != id) continue;
      int64_t column = 0;
      if (statistic.scope == StatScope::Column) {
        const ColumnSpace& columns = statistic.parts.at(0).columns;
        column = columns.phase;
        for (const auto& d : columns.digits) column += number(d.stride) * (point.at(d.dim.name) - number(d.offset));
      }
      return statistic.reduction->finish(state(s, place(statistic, column)),
                                         static_cast<double>(number(statistic.count)));
    }
    return std::nullopt;
  }

  void each(const std::vector<NamedDim>& dims, Point point, const std::function<void(const Point&)>& body,
            size_t i = 0) {
    if (i == dims.size()) return body(point);
    for (int64_t x = 0; x < number(dims[i].extent); ++x) {
      point[dims[i].name] = x;
      each(dims, point, body, i + 1);
    }
  }

  double at(NodeId id, const Point& point) {
    if (id == e_.accumulator) return accumulator(point);
    if (const auto finished = statistic(id, point)) return *finished;
    const Node& node = graph_[id];
    auto arg = [&](size_t i, const Point& p) { return at(node.args[i], p); };
    switch (node.kind) {
      case NodeKind::Input: {
        std::vector<int64_t> index;
        for (const auto& dim : e_.program.params[static_cast<size_t>(node.param)].dims)
          index.push_back(point.at(dim.name));
        return before_[static_cast<size_t>(node.param)][offset(node.param, index)];
      }
      case NodeKind::Constant:
        return node.value;
      case NodeKind::Index:
        return static_cast<double>(point.at(node.dim.name));
      case NodeKind::Extent:
        return static_cast<double>(number(node.map.offset));
      case NodeKind::Contract: {
        double total = 0;
        each(node.over, point, [&](const Point& p) {
          double product = 1;
          for (size_t i = 0; i < node.args.size(); ++i) product *= arg(i, p);
          total += product;
        });
        return total;
      }
      case NodeKind::Sum: {
        double total = 0;
        for (size_t i = 0; i < node.args.size(); ++i) total += node.coefficients[i] * arg(i, point);
        return total;
      }
      case NodeKind::Apply: {
        std::vector<double> args;
        for (size_t i = 0; i < node.args.size(); ++i) args.push_back(arg(i, point));
        return apply_op(*node.op, args, node.num_class);
      }
      case NodeKind::View: {
        Point inner = point;
        inner[node.dim.name] = mapped(node.map, point);
        return arg(0, inner);
      }
      case NodeKind::Put: {
        std::vector<NamedDim> digits;
        for (const auto& term : node.map.terms) digits.push_back(term.dim);
        double total = 0;
        each(digits, point, [&](const Point& p) {
          if (mapped(node.map, p) == point.at(node.dim.name)) total += arg(0, p);
        });
        return total;
      }
      case NodeKind::Reduce: {
        double s[kMaxStateWords], count = 0;
        std::copy_n(node.reduction->identity, kMaxStateWords, s);
        each(node.over, point, [&](const Point& p) {
          node.reduction->lift(lifted(node.args[0], p).data(), s);
          ++count;
        });
        return node.reduction->finish(s, count);
      }
      case NodeKind::Gather: {
        const double index = arg(1, point);
        if (!(index >= 0 && index < static_cast<double>(number(node.dim.extent)))) return 0;
        Point inner = point;
        inner[node.dim.name] = static_cast<int64_t>(index);
        return arg(0, inner);
      }
      case NodeKind::Cast:
        return round_to(arg(0, point), node.dtype);
    }
    return std::nan("");
  }

  const EpilogueProgram& e_;
  const Graph& graph_;
  const Bindings& bindings_;
  Tensors before_;
  Interpreted result_;
  std::vector<std::set<size_t>> written_;
  std::vector<double> accumulator_;
  std::vector<std::map<std::pair<int64_t, int64_t>, std::array<double, kMaxStateWords>>> states_;
  int64_t row_count_ = 0, rows_in_group_ = 1, row_ = 0, column_ = 0;
  int64_t group_ = 0;  ///< of the rows that statistics keep
  int region_ = -1;
  bool finishing_ = false;
};

}  // namespace

Interpreted interpret(const EpilogueProgram& epilogue, const Bindings& bindings, Tensors tensors) {
  return Interpreter(epilogue, bindings, std::move(tensors)).run();
}

}  // namespace coda::test
