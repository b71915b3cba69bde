#include "compiler/epilogue/roles.h"

#include <algorithm>

#include "compiler/epilogue/describe.h"
#include "compiler/epilogue/operand.h"
#include "dsl/diagnostics.h"

namespace coda {

namespace {

/// How the program uses the accumulator's dimensions that come from one operand.
struct Side {
  OperandShape shape;
  bool plain = true;                                       ///< whole dimensions only: these can be rows
  std::string reason;                                      ///< why not
  Substitution alias;                                      ///< other names → this side's dimensions
  std::map<std::string, std::vector<NamedDim>> regrouped;  ///< a dimension → the dimensions it is read as

  bool has(const std::string& name) const {
    auto names = [&](const auto& entry) {
      return std::any_of(entry.second.begin(), entry.second.end(), [&](const NamedDim& d) { return d.name == name; });
    };
    return alias.contains(name) || std::any_of(regrouped.begin(), regrouped.end(), names) ||
           std::any_of(shape.own.begin(), shape.own.end(), [&](const NamedDim& d) { return d.name == name; });
  }
  void refuse(std::string why) {
    if (plain) reason = std::move(why);
    plain = false;
  }
};

void study(Side& side, const std::vector<Uses>& uses) {
  for (const Uses& use : uses) {
    for (const Read& read : use.accumulator) {
      int bound = 0, free = 0;
      for (const auto& dim : side.shape.own) {
        const AffineMap& map = read.at.at(dim.name);
        const auto digits = whole_regrouping(map, dim.extent);
        if (!digits) {
          side.refuse("reads `" + dim.name + "` at " + formula(map));
          continue;
        }
        for (const auto& digit : *digits) {
          (is_bound(digit.name) ? bound : free) += 1;
          if (read.limits.contains(digit.name)) side.refuse("joins pieces along `" + dim.name + "`");
        }
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
      if (bound > 0 && free > 0) side.refuse("reduces over a part of the dimensions");
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

std::optional<Roles> assign_roles(const Program& program, Graph& graph, Reindexer& reindexer, const GemmCandidate& gemm,
                                  const std::vector<NodeId>& values, Diagnostics& diagnostics) {
  const Span span = own_span(program, graph[gemm.node].span, program.span);
  Side sides[2];
  for (int s = 0; s < 2; ++s) {
    const auto shape = operand_shape(program, graph, gemm.operands[s], gemm.depth);
    if (!shape) {
      diagnostics.report(DiagId::E0306, span, {describe(program, graph, gemm.operands[s])});
      return std::nullopt;
    }
    sides[s].shape = *shape;
  }
  UseCollector collector(graph, gemm.node);
  std::vector<Uses> uses;
  for (const NodeId value : values) uses.push_back(collector.collect(reindexer.at(value, {})));
  for (Side& side : sides) study(side, uses);
  if (!sides[0].plain && !sides[1].plain) {
    diagnostics.report(DiagId::E0314, span, {sides[0].reason, sides[1].reason});
    return std::nullopt;
  }
  int column = sides[0].plain && sides[1].plain ? column_vote(program, sides) : sides[0].plain ? 1 : 0;
  // Several dimensions as columns need constant inner extents.
  auto joins = [](const Side& side) {
    return std::any_of(side.shape.own.begin() + 1, side.shape.own.end(),
                       [](const NamedDim& d) { return !d.extent.constant(); });
  };
  if (sides[column].plain && joins(sides[column]) && !joins(sides[1 - column])) column = 1 - column;
  Side &row_side = sides[1 - column], &column_side = sides[column];

  Roles roles;
  roles.depth = gemm.depth;
  roles.a = {row_side.shape.param, row_side.shape.outer_axes(), row_side.shape.depth_axis};
  roles.b = {column_side.shape.param, column_side.shape.outer_axes(), column_side.shape.depth_axis};
  const Param& a = program.params[static_cast<size_t>(roles.a.param)];
  const Param& b = program.params[static_cast<size_t>(roles.b.param)];
  bool good = true;
  for (const Param* param : {&a, &b}) {
    if (param->role != Param::Role::InOut) continue;
    diagnostics.report(DiagId::E0331, span, {param->name});
    good = false;
  }
  if (!can_multiply(a.dtype, b.dtype)) {
    diagnostics.report(DiagId::E0305, span,
                       {a.name, std::string(info(a.dtype).name), b.name, std::string(info(b.dtype).name)});
    good = false;
  }
  if (!good) return std::nullopt;

  // The final accumulator: rows in their finest grouping, columns joined into one dimension.
  Substitution regroup;
  for (const auto& dim : row_side.shape.own) {
    const auto it = row_side.regrouped.find(dim.name);
    const std::vector<NamedDim> digits = it == row_side.regrouped.end() ? std::vector{dim} : it->second;
    roles.rows.insert(roles.rows.end(), digits.begin(), digits.end());
    if (it != row_side.regrouped.end()) regroup[dim.name] = mixed_radix(digits);
  }
  roles.row_alias = regroup;
  for (const auto& [name, map] : row_side.alias) roles.row_alias[name] = substitute(map, regroup);
  roles.column = joined(column_side.shape.own);
  NodeId row_operand = reindexer.view_leaf(gemm.operands[1 - column], regroup);
  NodeId column_operand = gemm.operands[column];
  const AffineMap column_map = mixed_radix(column_side.shape.own);
  if (column_side.shape.own.size() > 1) column_operand = graph.put(column_operand, roles.column, column_map, span);
  roles.accumulator = graph.contract({row_operand, column_operand}, {gemm.depth}, span);

  const NodeId accumulator = roles.accumulator;
  const std::vector<NamedDim> columns = column_side.shape.own;
  const NamedDim column_dim = roles.column;
  const auto regrouped = row_side.regrouped;
  const auto read = [&reindexer, &graph, accumulator, columns, column_dim, column_map,
                     regrouped](const Substitution& at) {
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
  reindexer.set_leaf(
      accumulator, [&reindexer, accumulator](const Substitution& at) { return reindexer.view_leaf(accumulator, at); });
  if (accumulator != gemm.node) reindexer.set_leaf(gemm.node, read);
  reindexer.set_alias(roles.row_alias);
  return roles;
}

}  // namespace coda
