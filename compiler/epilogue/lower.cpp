// The steps of lowering, in order: normalise, find the GEMM, give its operands their roles, say what each output is
// made of, cut the columns into regions, and write it all down. Without a GEMM it is a pass over rows (rowwise.h).
#include <algorithm>

#include "compiler/epilogue/describe.h"
#include "compiler/epilogue/epilogue.h"
#include "compiler/epilogue/finish.h"
#include "compiler/epilogue/inout.h"
#include "compiler/epilogue/normalise.h"
#include "compiler/epilogue/product_sums.h"
#include "compiler/epilogue/refusals.h"
#include "compiler/epilogue/rowwise.h"
#include "dsl/diagnostics.h"

namespace coda {

namespace {

/// The GEMMs that an output still uses: a moved index map leaves no second contraction behind, but a rewritten part
/// may. Products that are summed in one accumulator are one.
std::vector<GemmCandidate> used_gemms(const Graph& graph, const Normaliser& normaliser,
                                      const std::vector<NodeId>& values) {
  std::set<NodeId> candidates, seen;
  for (const auto& gemm : normaliser.gemms()) candidates.insert(gemm.node);
  std::vector<NodeId> stack = values;
  while (!stack.empty()) {
    const NodeId id = stack.back();
    stack.pop_back();
    if (!seen.insert(id).second || candidates.contains(id)) continue;
    stack.insert(stack.end(), graph[id].args.begin(), graph[id].args.end());
  }
  std::vector<GemmCandidate> used;
  for (const auto& gemm : normaliser.gemms()) {
    if (gemm.node != kNoNode && seen.contains(gemm.node)) used.push_back(gemm);
  }
  return used;
}

void report_several(const Program& program, const Graph& graph, const std::vector<GemmCandidate>& gemms,
                    const std::optional<ProductSumObstacle>& obstacle, Diagnostics& diagnostics) {
  if (obstacle) {
    diagnostics.report(DiagId::E0308, own_span(program, obstacle->span, program.span),
                       {describe(program, graph, obstacle->first), describe(program, graph, obstacle->second),
                        obstacle->reason, obstacle->way_out});
    return;
  }
  auto& diagnostic = diagnostics.report(DiagId::E0302, own_span(program, graph[gemms[1].node].span, program.span),
                                        {program.name, std::to_string(gemms.size())});
  for (const auto& gemm : gemms) {
    diagnostic.notes.push_back({graph[gemm.node].span, "`" + describe(program, graph, gemm.node) + "`"});
  }
}

/// A second GEMM whose operand is the tile: a sum over the tile's columns that keeps another parameter's dimension.
bool no_gemm_of_tile(const Program& program, const Graph& graph, const GemmCandidate& gemm,
                     const std::vector<NodeId>& values, Diagnostics& diagnostics) {
  UseCollector collector(graph, gemm.node);
  std::set<NodeId> seen;
  std::vector<NodeId> stack = values;
  while (!stack.empty()) {
    const NodeId id = stack.back();
    stack.pop_back();
    if (!seen.insert(id).second || id == gemm.node) continue;
    const Node& node = graph[id];
    stack.insert(stack.end(), node.args.begin(), node.args.end());
    if (node.kind != NodeKind::Contract || node.over.empty() || !collector.uses_accumulator(id)) continue;
    const bool small = std::all_of(node.over.begin(), node.over.end(), [](const NamedDim& d) {
      return d.extent.constant() && *d.extent.constant() <= kWidestGranule;
    });
    for (const auto& dim : node.dims) {
      const bool of_tile = std::any_of(node.args.begin(), node.args.end(), [&](NodeId arg) {
        return collector.uses_accumulator(arg) && graph[arg].has_dim(dim.name);
      });
      if (of_tile || small) continue;
      auto& diagnostic =
          diagnostics.report(DiagId::E0302, own_span(program, node.span, program.span), {program.name, "two"});
      diagnostic.notes.push_back({graph[gemm.node].span, "`" + describe(program, graph, gemm.node) + "` is the first"});
      return false;
    }
  }
  return true;
}

class Lowerer {
 public:
  Lowerer(const Program& program, bool other_way, EpilogueProgram& out, Diagnostics& diagnostics)
      : source_(program),
        other_way_(other_way),
        out_(out),
        diagnostics_(diagnostics),
        facts_(program.facts, program.bound) {}

  bool run() {
    out_ = {};
    out_.program.name = source_.name;
    out_.program.params = source_.params;
    out_.program.facts = source_.facts;
    out_.program.bound = source_.bound;
    out_.program.schedule = source_.schedule;
    out_.program.doc = source_.doc;
    out_.program.span = source_.span;
    Graph& graph = out_.program.graph;
    Reindexer reindexer(graph, facts_);

    Normaliser normaliser(source_, graph, reindexer, diagnostics_);
    const int errors_before = count_errors();
    std::vector<NodeId> values;
    for (const auto& output : source_.outputs) {
      const Span target = source_.params[static_cast<size_t>(output.param)].span;
      values.push_back(normaliser.run(output.value, own_span(source_, output.span, target)));
    }
    if (count_errors() != errors_before) return false;
    out_.laws = normaliser.laws();
    const std::vector<GemmCandidate> gemms = used_gemms(graph, normaliser, values);
    if (gemms.empty()) return lower_rowwise(source_, values, reindexer, facts_, out_, diagnostics_);
    if (gemms.size() > 1) {
      report_several(source_, graph, gemms, normaliser.obstacle(), diagnostics_);
      return false;
    }
    if (!no_gemm_of_tile(source_, graph, gemms[0], values, diagnostics_)) return false;
    const auto roles = assign_roles(source_, graph, reindexer, gemms[0], values, other_way_, diagnostics_);
    if (!roles) return false;
    either_way_ = roles->either;
    write_roles(*roles);

    UseCollector collector(graph, roles->accumulator);
    Lowering lowering{source_, graph, reindexer, facts_, *roles, collector, diagnostics_};
    return classify(lowering, values) && emit(lowering) && check_inouts(lowering, out_);
  }

  /// Could the GEMM's operands change roles?
  bool either_way() const { return either_way_; }

 private:
  int count_errors() const {
    return static_cast<int>(std::count_if(diagnostics_.all().begin(), diagnostics_.all().end(),
                                          [](const Diagnostic& d) { return d.severity == Severity::Error; }));
  }

  void write_roles(const Roles& roles) {
    out_.accumulator = roles.accumulator;
    out_.a = roles.a;
    out_.b = roles.b;
    out_.earlier = roles.earlier;
    out_.batch = roles.batch;
    out_.kept = roles.kept;
    out_.rows = roles.rows;
    out_.column = roles.column;
    out_.depth = roles.depth.extent;
  }

  NamedDim bound(const NamedDim& dim) const { return {dim.name, dim.extent.substitute(source_.bound)}; }

  /// Says in which stage each output is made, and makes the units. Goes on after an error, to report several.
  bool classify(Lowering& l, const std::vector<NodeId>& values) {
    std::set<std::string> kept;
    for (int i = 0; i < l.roles.kept; ++i) kept.insert(l.roles.rows[static_cast<size_t>(i)].name);
    bool good = true;
    for (size_t i = 0; i < values.size(); ++i) {
      const int param = source_.outputs[i].param;
      const Param& target = source_.params[static_cast<size_t>(param)];
      Unit unit{.use = Unit::Use::Store,
                .owner = param,
                .value = values[i],
                .columns = {},
                .index = {},
                .name = target.name,
                .span = {},
                .layout = {}};
      const Span assigned = own_span(source_, source_.outputs[i].span, target.span);
      unit.span = own_span(source_, l.graph[values[i]].span, assigned);
      std::set<std::string> rows;
      const NamedDim* twice = nullptr;
      for (const auto& dim : target.dims) {
        unit.index.push_back(substitute(affine(bound(dim)), l.roles.row_alias));
        if (!l.roles.is_row(dim.name)) {
          unit.columns.push_back(bound(dim));
          continue;
        }
        // Two dimensions of the product's rows: one of them is from elsewhere.
        for (const auto& term : unit.index.back().terms) {
          if (!rows.insert(term.dim.name).second) twice = &dim;
        }
      }
      if (twice != nullptr) {
        diagnostics_.report(DiagId::E0315, unit.span, {twice->name, unit.name});
        good = false;
        continue;
      }
      const bool every_row = rows.size() == l.roles.rows.size();
      if (!every_row && rows != kept) {
        good = refuse_rows(unit, rows, l) && good;
        continue;
      }
      if (every_row && !unit.columns.empty()) {
        unit.value = l.reindexer.at(values[i], l.roles.row_alias);
        good = settle(l, std::move(unit), units_) && good;
      } else if (unit.columns.empty()) {
        const NodeId value = l.reindexer.at(values[i], l.roles.row_alias);
        FinishStore store{
            .param = param, .value = value, .scope = every_row ? StatScope::Row : StatScope::All, .index = unit.index};
        good = add_row_finish(l, out_, std::move(store), unit, units_) && good;
      } else {
        unit.use = Unit::Use::ColumnFinish;
        unit.value = l.reindexer.at(values[i], l.roles.row_alias);
        good = settle(l, std::move(unit), units_) && good;
      }
    }
    return good;
  }

  bool refuse_rows(const Unit& unit, const std::set<std::string>& rows, Lowering& l) {
    for (const auto& row : l.roles.rows) {
      if (rows.contains(row.name)) continue;
      if (l.roles.kept > 0) return refuse_other_rows(unit, l);
      diagnostics_.report(DiagId::E0323, unit.span, {unit.name, "all but `" + row.name + "`", "rows"});
      return false;
    }
    return true;
  }

  /// Some statistic keeps a part of the rows, and this output has neither that part nor all.
  bool refuse_other_rows(const Unit& unit, Lowering& l) {
    std::vector<std::string> kept;
    for (int i = 0; i < l.roles.kept; ++i) kept.push_back(l.roles.rows[static_cast<size_t>(i)].name);
    diagnostics_.report(DiagId::E0325, unit.span, {unit.name, name_list(kept)});
    return false;
  }

  bool emit(Lowering& l) {
    std::vector<Layout> layouts;
    for (const Unit& unit : units_) layouts.push_back(unit.layout);
    CutFailure failure;
    auto cut = cut_regions(layouts, facts_, failure);
    if (!cut) {
      refuse(l, units_, failure);
      return false;
    }
    out_.regions = std::move(cut->regions);
    for (size_t i = 0; i < units_.size(); ++i) {
      const Unit& unit = units_[i];
      for (const RegionPiece& piece : cut->pieces[i]) {
        if (unit.use == Unit::Use::Store) {
          out_.stores.push_back({unit.owner, unit.value, piece.region, piece.columns, unit.index});
        } else if (unit.use == Unit::Use::Statistic) {
          auto& parts = out_.statistics[static_cast<size_t>(unit.owner)].parts;
          parts.push_back({piece.region, unit.value, piece.columns});
        } else if (!add_column_finish(l, out_, unit, piece)) {
          return false;
        }
      }
    }
    for (auto& statistic : out_.statistics) {
      std::stable_sort(statistic.parts.begin(), statistic.parts.end(),
                       [](const auto& a, const auto& b) { return a.region < b.region; });
    }
    return true;
  }

  const Program& source_;
  bool other_way_, either_way_ = false;
  EpilogueProgram& out_;
  Diagnostics& diagnostics_;
  DimFacts facts_;
  std::vector<Unit> units_;
};

}  // namespace

bool lower_to_epilogue(const Program& program, EpilogueProgram& out, Diagnostics& diagnostics) {
  Diagnostics first = diagnostics.emptied(), second = diagnostics.emptied();
  Lowerer lowerer(program, false, out, first);
  const bool good = lowerer.run();
  // What an output needs may fit with the operands' roles exchanged only. Not before its sizes are known, and if
  // neither way fits, the first way's errors are said: the outputs ask for that one.
  const auto& errors = first.all();
  const bool unknown_size =
      std::any_of(errors.begin(), errors.end(), [](const Diagnostic& d) { return d.id == DiagId::E0310; });
  const bool exchange = !good && !unknown_size && lowerer.either_way();
  const bool exchanged = exchange && Lowerer(program, true, out, second).run();
  diagnostics.append(exchanged ? second : first);
  return good || exchanged;
}

}  // namespace coda
