#include "compiler/epilogue/roles.h"

#include <algorithm>
#include <set>

#include "compiler/epilogue/describe.h"
#include "compiler/epilogue/layout.h"
#include "compiler/epilogue/operand.h"
#include "dsl/diagnostics.h"

namespace coda {

namespace {

/// How the program uses the accumulator's dimensions that come from one operand.
struct Side {
  OperandShape shape;
  bool plain = true;   ///< whole dimensions only: these can be rows
  std::string reason;  ///< why not
  /// What reductions over a part of the dimensions leave: these can be rows whose other dimensions are a batch.
  std::optional<std::set<std::string>> kept;
  bool differ = false;                                     ///< reductions leave different parts
  std::vector<NamedDim> reduced;                           ///< by them, as the program reads them
  Substitution alias;                                      ///< other names → this side's dimensions
  std::map<std::string, std::vector<NamedDim>> regrouped;  ///< a dimension → the dimensions it is read as

  bool has(const std::string& name) const {
    auto names = [&](const auto& entry) {
      return std::any_of(entry.second.begin(), entry.second.end(), [&](const NamedDim& d) { return d.name == name; });
    };
    return alias.contains(name) || std::any_of(regrouped.begin(), regrouped.end(), names) ||
           std::any_of(shape.own.begin(), shape.own.end(), [&](const NamedDim& d) { return d.name == name; });
  }
  /// A reduction over `bound`, which leaves `free`.
  void keep(const std::set<std::string>& free, const std::vector<NamedDim>& bound) {
    differ = differ || (kept && *kept != free);
    if (differ) refuse("reduces over different parts of the dimensions");
    kept = free;
    reduced.insert(reduced.end(), bound.begin(), bound.end());
  }
  /// What a tile of columns can hold: then a part's statistic may also be used in the tile's elements.
  bool reduces_in_tile() const {
    int64_t count = 1;
    for (const NamedDim& dim : reduced) {
      const auto extent = dim.extent.constant();
      if (!extent || *extent > kWidestGranule) return false;
      count = std::max(count, *extent);
    }
    return true;
  }
  void refuse(std::string why) {
    if (plain) reason = std::move(why);
    plain = false;
  }
};

void study(Side& side, const std::vector<Uses>& uses) {
  for (const Uses& use : uses) {
    for (const Read& read : use.accumulator) {
      std::vector<NamedDim> bound;
      std::set<std::string> free;
      bool mixed = false;
      for (const auto& dim : side.shape.own) {
        const AffineMap& map = read.at.at(dim.name);
        const auto digits = whole_regrouping(map, dim.extent);
        if (!digits) {
          side.refuse("reads `" + dim.name + "` at " + formula(map));
          continue;
        }
        const auto bound_before = bound.size();
        for (const auto& digit : *digits) {
          if (is_bound(digit.name)) bound.push_back(digit);
          if (read.limits.contains(digit.name)) side.refuse("joins pieces along `" + dim.name + "`");
        }
        if (bound.size() == bound_before) free.insert(dim.name);
        mixed = mixed || (bound.size() > bound_before && bound.size() < bound_before + digits->size());
        if (digits->size() == 1) {
          const std::string name = original_name(digits->front().name);
          if (name == dim.name) continue;
          const auto [it, fresh] = side.alias.emplace(name, affine(dim));
          if (!fresh && !(it->second == affine(dim))) side.refuse("uses `" + name + "` for two dimensions");
        } else {
          std::vector<NamedDim> names;
          for (const auto& digit : *digits) names.push_back({original_name(digit.name), digit.extent});
          const auto [it, fresh] = side.regrouped.emplace(dim.name, names);
          if (!fresh && it->second != names) side.refuse("groups `" + dim.name + "` in two ways");
        }
      }
      if (mixed) side.refuse("reduces over a part of the dimensions");
      if (!bound.empty() && !free.empty()) side.keep(free, bound);
    }
  }
}

/// Does the program ask for this side as the GEMM's columns? Decided by its outputs.
int column_vote(const Program& program, const Side (&sides)[2]) {
  int rows_vote = -1;
  for (const auto& output : program.outputs) {
    const auto& dims = program.params[static_cast<size_t>(output.param)].dims;
    bool present[2] = {false, false};
    for (const auto& dim : dims) {
      for (int s = 0; s < 2; ++s) present[s] = present[s] || sides[s].has(dim.name);
    }
    // The last dimension has unit stride: neighbouring columns are then neighbours in memory.
    if (present[0] && present[1] && sides[0].has(dims.back().name) != sides[1].has(dims.back().name)) {
      return sides[0].has(dims.back().name) ? 0 : 1;
    }
    for (int s = 0; s < 2 && rows_vote < 0; ++s) {
      if (present[s] && !present[1 - s]) rows_vote = s;
    }
  }
  if (rows_vote >= 0) return 1 - rows_vote;
  if (sides[0].shape.own.size() != sides[1].shape.own.size()) {
    return sides[0].shape.own.size() < sides[1].shape.own.size() ? 0 : 1;
  }
  return sides[0].shape.param <= sides[1].shape.param ? 1 : 0;
}

NamedDim joined(const std::vector<NamedDim>& dims) {
  std::string name;
  for (const auto& dim : dims) name += (name.empty() ? "" : "*") + dim.name;
  return {dims.size() == 1 ? dims[0].name : name, product(dims)};
}

}  // namespace

bool Roles::is_row(const std::string& name) const {
  return row_alias.contains(name) ||
         std::any_of(rows.begin(), rows.end(), [&](const NamedDim& row) { return row.name == name; });
}

namespace {

class RoleFinder {
 public:
  RoleFinder(const Program& program, Graph& graph, Reindexer& reindexer, const GemmCandidate& gemm, bool other_way,
             Diagnostics& diagnostics)
      : other_way_(other_way),
        program_(program),
        graph_(graph),
        reindexer_(reindexer),
        gemm_(gemm),
        diagnostics_(diagnostics),
        span_(own_span(program, graph[gemm.node].span, program.span)) {}

  std::optional<Roles> find(const std::vector<NodeId>& values) {
    if (!find_sides(values) || !find_terms() || !check_operands()) return std::nullopt;
    make_accumulator();
    read_accumulator();
    return std::move(roles_);
  }

 private:
  std::optional<OperandShape> shape_of(NodeId operand, const NamedDim& depth) {
    auto shape = operand_shape(program_, graph_, operand, depth);
    if (shape) return shape;
    if (graph_[operand].kind == NodeKind::Gather) {
      refuse_gather(operand);
    } else {
      diagnostics_.report(DiagId::E0306, span_, {describe(program_, graph_, operand)});
    }
    return shape;
  }

  bool refuse_gather(NodeId operand) {
    diagnostics_.report(DiagId::E0326, own_span(program_, graph_[operand].span, span_),
                        {describe(program_, graph_, operand)});
    return false;
  }

  bool find_sides(const std::vector<NodeId>& values) {
    for (int s = 0; s < 2; ++s) {
      auto shape = shape_of(gemm_.operands[s], gemm_.depth);
      if (!shape) return false;
      sides_[s].shape = std::move(*shape);
    }
    // In the order of the first operand.
    for (const NamedDim& dim : sides_[0].shape.own) {
      if (std::find(gemm_.batch.begin(), gemm_.batch.end(), dim) != gemm_.batch.end()) batch_.push_back(dim);
    }
    const OperandShape whole[2] = {sides_[0].shape, sides_[1].shape};
    for (int s = 0; s < 2; ++s) {
      if (!sides_[s].shape.take_batch(batch_)) return refuse_gather(gemm_.operands[s]);
    }
    UseCollector collector(graph_, gemm_.node);
    std::vector<Uses> uses;
    for (const NodeId value : values) uses.push_back(collector.collect(reindexer_.at(value, {})));
    for (Side& side : sides_) study(side, uses);
    refuse_parts();
    for (const Side& side : sides_) {
      if (!side.differ || side.reduces_in_tile()) continue;
      diagnostics_.report(DiagId::E0327, span_, {describe(program_, graph_, gemm_.node)});
      return false;
    }
    if (!sides_[0].plain && !sides_[1].plain) {
      diagnostics_.report(DiagId::E0314, span_, {sides_[0].reason, sides_[1].reason});
      return false;
    }
    column_ = sides_[0].plain && sides_[1].plain ? column_vote(program_, sides_) : sides_[0].plain ? 1 : 0;
    // Several dimensions as columns need constant inner extents; those of which a part is reduced are better rows.
    const auto unfit = [](const Side& side) { return joins(side) || side.kept.has_value(); };
    if (sides_[column_].plain && unfit(sides_[column_]) && !unfit(sides_[1 - column_])) column_ = 1 - column_;
    roles_.either = sides_[0].plain && sides_[1].plain && !unfit(row_side());
    if (other_way_ && roles_.either) column_ = 1 - column_;
    if (row_side().kept && !make_batch()) return refuse_gather(gemm_.operands[1 - column_]);
    if (batch_.empty() && joins(sides_[column_])) batch_of_columns(uses);
    if (!batch_.empty() && batch_of_ == BatchOf::Both && !add_batch(uses)) return false;
    if (batch_of_ == BatchOf::Rows || kept_.empty()) return true;
    // The kept dimensions are the outermost of the batch.
    std::stable_partition(batch_.begin(), batch_.end(), [&](const NamedDim& dim) { return kept_.contains(dim.name); });
    for (int s = 0; s < 2; ++s) {
      if (batch_of_ == BatchOf::Columns && s != column_) continue;
      sides_[s].shape = whole[s];
      sides_[s].shape.take_batch(batch_);
    }
    return true;
  }

  /// Columns of several dimensions whose inner ones have no known extent can be a product for each of the outer ones,
  /// by the same rows; where what is done with them does not need them side by side.
  void batch_of_columns(const std::vector<Uses>& uses) {
    Side& columns = sides_[column_];
    if (std::any_of(uses.begin(), uses.end(), [](const Uses& use) { return !use.puts.empty(); })) return;
    const OperandShape whole = columns.shape;
    batch_.assign(whole.own.begin(), whole.own.end() - 1);
    if (columns.shape.take_batch(batch_) && add_batch_to_rows(uses).empty()) {
      batch_of_ = BatchOf::Columns;
      return;
    }
    columns.shape = whole;
    batch_.clear();
    kept_.clear();
  }

  /// Which sides of which a part is reduced can't be rows. Where a tile of columns holds the part, it stays as it is.
  void refuse_parts() {
    for (int s = 0; s < 2; ++s) {
      Side &side = sides_[s], &other = sides_[1 - s];
      const bool in_tile = side.kept && side.reduces_in_tile() && other.plain && !other.kept;
      if (side.kept && (in_tile || !batch_.empty())) side.refuse("reduces over a part of the dimensions");
    }
  }

  /// The rows that are kept are a batch of products by the same columns.
  bool make_batch() {
    Side& rows = row_side();
    kept_ = *rows.kept;
    for (const NamedDim& dim : rows.shape.own) {
      if (kept_.contains(dim.name)) batch_.push_back(dim);
    }
    batch_of_ = BatchOf::Rows;
    return rows.shape.take_batch(batch_);
  }

  /// The batch's dimensions are the outermost rows: to what is done with the accumulator they are no others. If they
  /// can't be, the columns may still take the rows' part.
  bool add_batch(const std::vector<Uses>& uses) {
    const std::string reason = add_batch_to_rows(uses);
    if (reason.empty()) return true;
    if (sides_[0].plain && sides_[1].plain && !joins(row_side())) {
      column_ = 1 - column_;
      if (add_batch_to_rows(uses).empty()) return true;
    }
    std::vector<std::string> names;
    for (const NamedDim& dim : batch_) names.push_back(dim.name);
    diagnostics_.report(DiagId::E0304, span_,
                        {describe(program_, graph_, gemm_.operands[0]), describe(program_, graph_, gemm_.operands[1]),
                         name_list(names), reason});
    return false;
  }

  /// Empty, or what the program does with the batch that it can't do with rows.
  std::string add_batch_to_rows(const std::vector<Uses>& uses) {
    Side rows;
    rows.shape = rows_of_product();
    rows.shape.own.insert(rows.shape.own.begin(), batch_.begin(), batch_.end());
    study(rows, uses);
    if (rows.kept) {
      for (const NamedDim& dim : rows.shape.own) {
        const bool of_batch = std::find(batch_.begin(), batch_.end(), dim) != batch_.end();
        if (rows.kept->contains(dim.name) && !of_batch) rows.refuse("reduces over a part of the dimensions");
      }
    }
    if (!rows.plain) return rows.reason;
    kept_ = rows.kept.value_or(std::set<std::string>{});
    row_side().alias = rows.alias;
    row_side().regrouped = rows.regrouped;
    return "";
  }

  /// Would its dimensions as columns have an inner extent that isn't constant?
  static bool joins(const Side& side) {
    return std::any_of(side.shape.own.begin() + 1, side.shape.own.end(),
                       [](const NamedDim& d) { return !d.extent.constant(); });
  }

  Side& row_side() { return sides_[1 - column_]; }
  const OperandShape& rows_of_product() const { return sides_[1 - column_].shape; }
  const OperandShape& columns_of_product() const { return sides_[column_].shape; }

  /// Which operand of each product that is summed gives rows and which columns.
  bool find_terms() {
    for (const GemmCandidate::Earlier& earlier : gemm_.earlier) {
      std::optional<OperandShape> shapes[2];
      for (int s = 0; s < 2; ++s) {
        shapes[s] = shape_of(earlier.operands[s], earlier.depth);
        if (!shapes[s]) return false;
      }
      int rows = -1;
      for (int s = 0; s < 2 && rows < 0; ++s) {
        OperandShape of_rows = *shapes[s], of_columns = *shapes[1 - s];
        const bool batched = (batch_of_ == BatchOf::Columns || of_rows.take_batch(batch_)) &&
                             (batch_of_ == BatchOf::Rows || of_columns.take_batch(batch_));
        if (!batched || of_rows.own != rows_of_product().own || of_columns.own != columns_of_product().own) continue;
        rows = s;
        shapes[s] = std::move(of_rows);
        shapes[1 - s] = std::move(of_columns);
      }
      if (rows < 0) {
        const NodeId first = graph_.contract({earlier.operands[0], earlier.operands[1]}, {earlier.depth});
        const NodeId last = graph_.contract({gemm_.operands[0], gemm_.operands[1]}, {gemm_.depth});
        diagnostics_.report(DiagId::E0308, span_,
                            {describe(program_, graph_, first), describe(program_, graph_, last),
                             "the dimensions of their operands lie in different orders",
                             "declare the operands with their dimensions in one order"});
        return false;
      }
      terms_.push_back({earlier.operands[rows], earlier.operands[1 - rows], earlier.depth});
      roles_.earlier.push_back(
          {shapes[rows]->operand(), shapes[1 - rows]->operand(), earlier.depth.extent, earlier.scale});
    }
    terms_.push_back({gemm_.operands[1 - column_], gemm_.operands[column_], gemm_.depth});
    roles_.depth = gemm_.depth;
    roles_.a = rows_of_product().operand();
    roles_.b = columns_of_product().operand();
    return true;
  }

  bool check_operands() {
    std::vector<const GemmOperand*> operands;
    for (const GemmTerm& term : roles_.earlier) operands.insert(operands.end(), {&term.a, &term.b});
    operands.insert(operands.end(), {&roles_.a, &roles_.b});
    const auto param = [&](const GemmOperand* operand) -> const Param& {
      return program_.params[static_cast<size_t>(operand->param)];
    };
    bool good = true;
    for (const GemmOperand* operand : operands) {
      for (const int index : {operand->param, operand->index_param}) {
        if (index < 0 || program_.params[static_cast<size_t>(index)].role != Param::Role::InOut) continue;
        diagnostics_.report(DiagId::E0331, span_, {program_.params[static_cast<size_t>(index)].name});
        good = false;
      }
    }
    for (size_t i = 0; i < operands.size() && good; i += 2) {
      const Param &a = param(operands[i]), &b = param(operands[i + 1]);
      const Param &last_a = param(&roles_.a), &last_b = param(&roles_.b);
      const auto type = [](const Param& p) { return std::string(info(p.dtype).name); };
      if (!can_multiply(a.dtype, b.dtype)) {
        diagnostics_.report(DiagId::E0305, span_,
                            {a.name, type(a), b.name, type(b), way_out_of_types(a.name, a.dtype, b.name, b.dtype)});
        good = false;
      } else if (a.dtype != last_a.dtype || b.dtype != last_b.dtype) {
        diagnostics_.report(
            DiagId::E0308, span_,
            {a.name + " @ " + b.name, last_a.name + " @ " + last_b.name,
             "one multiplies " + type(a) + " by " + type(b) + ", the other " + type(last_a) + " by " + type(last_b),
             "give the operands of both the same types"});
        good = false;
      }
    }
    return good;
  }

  /// The final accumulator: rows in their finest grouping, columns joined into one dimension.
  void make_accumulator() {
    const Side& rows = row_side();
    std::vector<NamedDim> all = batch_;
    all.insert(all.end(), rows.shape.own.begin(), rows.shape.own.end());
    for (size_t i = 0; i < all.size(); ++i) {
      const auto it = rows.regrouped.find(all[i].name);
      const std::vector<NamedDim> digits = it == rows.regrouped.end() ? std::vector{all[i]} : it->second;
      roles_.rows.insert(roles_.rows.end(), digits.begin(), digits.end());
      if (it != rows.regrouped.end()) regroup_[all[i].name] = mixed_radix(digits);
      if (i + 1 == batch_.size()) roles_.batch = static_cast<int>(roles_.rows.size());
      if (i + 1 == kept_.size()) roles_.kept = static_cast<int>(roles_.rows.size());
    }
    roles_.row_alias = regroup_;
    for (const auto& [name, map] : rows.alias) roles_.row_alias[name] = substitute(map, regroup_);
    const std::vector<NamedDim>& columns = columns_of_product().own;
    roles_.column = joined(columns);
    column_map_ = mixed_radix(columns);
    for (size_t i = 0; i < terms_.size(); ++i) {
      // View also what only the batch's grouping changes in the operand of the columns.
      NodeId row_operand = reindexer_.view_leaf(terms_[i].rows, regroup_);
      NodeId column_operand = reindexer_.view_leaf(terms_[i].columns, regroup_);
      if (columns.size() > 1) column_operand = graph_.put(column_operand, roles_.column, column_map_, span_);
      NodeId product = graph_.contract({row_operand, column_operand}, {terms_[i].depth}, span_);
      if (i > 0) product = graph_.sum({roles_.accumulator, product}, {1, 1}, span_);
      const NodeId scale = i < roles_.earlier.size() ? roles_.earlier[i].scale : kNoNode;
      roles_.accumulator = scale == kNoNode ? product : graph_.contract({product, scale}, {}, span_);
    }
  }

  void read_accumulator() {
    const NodeId accumulator = roles_.accumulator;
    const auto read = [&reindexer = reindexer_, &graph = graph_, accumulator, columns = columns_of_product().own,
                       column_dim = roles_.column, column_map = column_map_,
                       regrouped = row_side().regrouped](const Substitution& at) {
      Substitution final_at;
      for (const auto& [name, map] : at) {
        const bool is_column =
            std::any_of(columns.begin(), columns.end(), [n = name](const auto& d) { return d.name == n; });
        if (is_column) continue;
        const auto it = regrouped.find(name);
        if (it == regrouped.end()) {
          final_at[name] = map;
          continue;
        }
        // A whole regrouping was demanded of every read; where its digits have other names they are matched by stride.
        const auto digits = whole_regrouping(map, product(it->second));
        for (size_t i = 0; digits && i < digits->size() && i < it->second.size(); ++i) {
          final_at[it->second[i].name] = affine((*digits)[i]);
        }
      }
      final_at[column_dim.name] = substitute(column_map, at);
      NodeId result = reindexer.view_leaf(accumulator, final_at);
      for (const auto& [name, digits] : regrouped) {  // asked for as a whole
        if (!at.contains(name)) result = graph.put(result, {name, product(digits)}, mixed_radix(digits));
      }
      return result;
    };
    reindexer_.set_leaf(accumulator, [&reindexer = reindexer_, accumulator](const Substitution& at) {
      return reindexer.view_leaf(accumulator, at);
    });
    if (accumulator != gemm_.node) reindexer_.set_leaf(gemm_.node, read);
    reindexer_.set_alias(roles_.row_alias);
  }

  struct Operands {
    NodeId rows, columns;
    NamedDim depth;
  };

  bool other_way_;
  const Program& program_;
  Graph& graph_;
  Reindexer& reindexer_;
  const GemmCandidate& gemm_;
  Diagnostics& diagnostics_;
  const Span span_;
  Side sides_[2];
  std::vector<NamedDim> batch_;
  enum class BatchOf : uint8_t { Both, Rows, Columns } batch_of_ = BatchOf::Both;  ///< whose operand has it
  std::set<std::string> kept_;  ///< of the batch, by reductions over all other rows
  int column_ = 1;
  std::vector<Operands> terms_;
  Substitution regroup_;
  AffineMap column_map_;
  Roles roles_;
};

}  // namespace

std::optional<Roles> assign_roles(const Program& program, Graph& graph, Reindexer& reindexer, const GemmCandidate& gemm,
                                  const std::vector<NodeId>& values, bool other_way, Diagnostics& diagnostics) {
  return RoleFinder(program, graph, reindexer, gemm, other_way, diagnostics).find(values);
}

}  // namespace coda
