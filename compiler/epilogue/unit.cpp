#include "compiler/epilogue/unit.h"

#include <algorithm>

#include "compiler/epilogue/describe.h"
#include "compiler/epilogue/refusals.h"
#include "dsl/diagnostics.h"

namespace coda {

namespace {

constexpr int kDeepest = 64;

class Settler {
 public:
  Settler(Lowering& lowering, std::vector<Unit>& settled) : l_(lowering), settled_(settled) {}

  bool settle(Unit unit, int depth) {
    const Uses uses = l_.collector.collect(unit.value);
    if (!check(unit, uses) || depth > kDeepest) return false;
    for (const OpenPut& open : uses.puts) {
      if (must_split(open)) return split(unit, open, depth);
    }
    LayoutFailure failure;
    if (auto layout = lay_out(unit.columns, uses.accumulator, l_.roles.column, l_.facts, failure)) {
      if (!uses.puts.empty() && layout->granule > 1 && better_split(unit, uses.puts.front(), layout->granule, depth)) {
        return true;
      }
      unit.layout = std::move(*layout);
      settled_.push_back(std::move(unit));
      return true;
    }
    if (!uses.puts.empty()) return split(unit, uses.puts.front(), depth);
    if (failure.kind == LayoutFailure::Kind::Unroll) return unroll(unit, failure.dim, depth);
    if (uses.accumulator.empty() && depth > 0) {
      l_.diagnostics.report(DiagId::E0316, unit.span, {unit.name});
      return false;
    }
    refuse(l_, unit, failure);
    return false;
  }

 private:
  /// What no split can mend.
  bool check(const Unit& unit, const Uses& uses) {
    if (!uses.foreign.empty()) {
      const Span span = l_.graph[uses.foreign[0]].span;
      l_.diagnostics.report(DiagId::E0324, own_span(l_.source, span, unit.span),
                            {describe(l_.source, l_.graph, uses.foreign[0])});
      return false;
    }
    return check_rows(l_, unit, uses, unit.use == Unit::Use::ColumnFinish);
  }

  /// Pieces of symbolic or large extent are stores of their own; small ones can be told apart inside a tile.
  bool must_split(const OpenPut& open) const {
    for (const NodeId sibling : open.siblings) {
      const Node& put = l_.graph[sibling];
      const auto extent = put.dim.extent.constant();
      if (!extent || *extent > kWidestGranule || !put.map.offset.constant()) return true;
      for (const auto& term : put.map.terms) {
        if (!term.stride.constant() || !term.dim.extent.constant()) return true;
      }
    }
    return !open.coordinate.offset.constant();
  }

  /// A join can stay in the tile as a granule, or be several stores with smaller ones: a small granule fits more tiles.
  /// Where the pieces mix as much as the whole, one store is better: its columns are neighbours.
  bool better_split(const Unit& unit, const OpenPut& open, int64_t granule, int depth) {
    SourceMap no_sources;
    Diagnostics quiet(no_sources);
    Lowering trial{l_.source, l_.graph, l_.reindexer, l_.facts, l_.roles, l_.collector, quiet};
    std::vector<Unit> pieces;
    if (!Settler(trial, pieces).split(unit, open, depth)) return false;
    const bool smaller =
        std::all_of(pieces.begin(), pieces.end(), [&](const Unit& piece) { return piece.layout.granule < granule; });
    if (smaller) settled_.insert(settled_.end(), pieces.begin(), pieces.end());
    return smaller;
  }

  bool is_column(const Unit& unit, const std::string& name) const {
    return std::any_of(unit.columns.begin(), unit.columns.end(), [&](const NamedDim& d) { return d.name == name; });
  }

  bool split(const Unit& unit, const OpenPut& open, int depth) {
    const auto& terms = open.coordinate.terms;
    const bool own =
        std::all_of(terms.begin(), terms.end(), [&](const auto& t) { return is_column(unit, t.dim.name); });
    if (!own || terms.empty()) return mixed(unit, "a join along the rows");
    const bool single = terms.size() == 1 && terms[0].stride == Dim(1);
    if (const auto digits = single ? std::nullopt : in_steps(unit, open)) {
      return settle(piece(unit, terms[0].dim, mixed_radix(*digits), *digits), depth + 1);
    }
    return single ? split_by_puts(unit, open, depth) : split_by_borders(unit, open, depth);
  }

  /// Elements several columns apart of what one put joins: as the put's groups have them.
  std::optional<std::vector<NamedDim>> in_steps(const Unit& unit, const OpenPut& open) {
    const AffineMap map = l_.graph[open.put].map;
    const bool one = std::all_of(open.siblings.begin(), open.siblings.end(),
                                 [&](NodeId sibling) { return l_.graph[sibling].map == map; });
    const auto taken = [&](const std::string& name) { return is_column(unit, name) || l_.roles.is_row(name); };
    return one ? l_.reindexer.digits_in_steps(map, open.coordinate, taken) : std::nullopt;
  }

  bool mixed(const Unit& unit, std::string detail) {
    LayoutFailure failure;
    failure.detail = std::move(detail);
    refuse(l_, unit, failure);
    return false;
  }

  /// One piece for each put of the join: the coordinate runs through the put's own dimensions.
  bool split_by_puts(const Unit& unit, const OpenPut& open, int depth) {
    const NamedDim dim = open.coordinate.terms[0].dim;
    std::vector<AffineMap> maps;
    for (const NodeId sibling : open.siblings) {
      const AffineMap map = l_.graph[sibling].map;
      if (std::find(maps.begin(), maps.end(), map) != maps.end()) continue;
      maps.push_back(map);
    }
    Dim covered;
    for (const auto& map : maps) {
      Dim count(1);
      for (const auto& term : map.terms) count = count * term.dim.extent;
      covered = covered + count;
    }
    for (size_t i = 0; i < maps.size(); ++i) {
      for (size_t j = i + 1; j < maps.size(); ++j) {
        if (l_.reindexer.land(maps[i], maps[j]).kind != Reindexer::Landing::Kind::Outside) {
          return mixed(unit, "pieces of `" + dim.name + "` at `" + formula(maps[i]) + "` and at `" + formula(maps[j]) +
                                 "` may overlap");
        }
      }
    }
    if (!(covered == dim.extent)) {
      if (maps.size() == 1) return regroup(unit, dim, maps[0], open.coordinate.offset, depth);
      l_.diagnostics.report(DiagId::E0316, unit.span, {unit.name});
      return false;
    }
    for (const auto& map : maps) {
      Substitution rename;
      std::vector<NamedDim> fresh;
      for (const auto& term : map.terms) {
        const bool taken =
            (is_column(unit, term.dim.name) && term.dim.name != dim.name) || l_.roles.is_row(term.dim.name);
        // Also the split dimension's own name would be hit by the substitution twice.
        fresh.push_back(taken || term.dim.name == dim.name ? l_.reindexer.fresh(term.dim) : term.dim);
        rename[term.dim.name] = affine(fresh.back());
      }
      const AffineMap to = add(substitute(map, rename), affine_constant(Dim() - open.coordinate.offset));
      if (!settle(piece(unit, dim, to, fresh), depth + 1)) return false;
    }
    return true;
  }

  /// A part of what one put joins without gaps, the coordinate being `start` + `dim`: digits as the put's, of which the
  /// outermost has fewer values.
  bool regroup(const Unit& unit, const NamedDim& dim, const AffineMap& put, const Dim& start, int depth) {
    std::vector<AffineMap::Term> terms = put.terms;
    AffineMap to;
    std::vector<NamedDim> fresh;
    for (Dim stride(1); !terms.empty();) {
      const auto next = std::find_if(terms.begin(), terms.end(), [&](const auto& t) { return t.stride == stride; });
      if (next == terms.end()) break;
      NamedDim digit = l_.reindexer.fresh(next->dim);
      terms.erase(next);
      if (terms.empty()) {
        const auto count = l_.facts.exact_quotient(dim.extent, stride);
        if (!count || !l_.facts.exact_quotient(start - put.offset, stride)) {
          const Dim border = start.is_zero() ? dim.extent : start;
          return mixed(unit, "a piece begins at `" + border.text() + "`, inside a group of `" + stride.text() + "`");
        }
        digit.extent = *count;
      }
      to.terms.push_back({digit, stride});
      stride = stride * digit.extent;
      fresh.push_back(std::move(digit));
    }
    if (terms.empty() && fresh.size() > 1) return settle(piece(unit, dim, to, fresh), depth + 1);
    l_.diagnostics.report(DiagId::E0316, unit.span, {unit.name});
    return false;
  }

  /// The coordinate has several digits: cut the outermost one where a put begins and ends.
  bool split_by_borders(const Unit& unit, const OpenPut& open, int depth) {
    const AffineMap::Term* outer = nullptr;
    for (const auto& term : open.coordinate.terms) {
      if (outer == nullptr || l_.facts.exact_quotient(term.stride, outer->stride)) outer = &term;
    }
    std::vector<Dim> cuts{Dim()};
    for (const NodeId sibling : open.siblings) {
      const Node& put = l_.graph[sibling];
      for (const Dim& border : {put.map.offset, greatest(put.map) + Dim(1)}) {
        const auto at = l_.facts.exact_quotient(border - open.coordinate.offset, outer->stride);
        if (!at)
          return mixed(unit, "a piece begins at `" + border.text() + "`, inside a group of `" + outer->dim.name + "`");
        cuts.push_back(*at);
      }
    }
    cuts.push_back(outer->dim.extent);
    std::vector<Dim> sorted;
    for (const Dim& cut : cuts) {
      // A put may begin before the part that is wanted, or end after it.
      if (l_.facts.at_most(cut, Dim()) && !cut.is_zero()) continue;
      if (l_.facts.at_most(outer->dim.extent, cut) && !(cut == outer->dim.extent)) continue;
      if (std::find(sorted.begin(), sorted.end(), cut) != sorted.end()) continue;
      auto it = sorted.begin();
      while (it != sorted.end() && l_.facts.at_most(*it, cut)) ++it;
      if (it != sorted.end() && !l_.facts.at_most(cut, *it)) {
        return mixed(unit, "whether `" + cut.text() + "` is before `" + it->text() + "` is not known");
      }
      sorted.insert(it, cut);
    }
    if (sorted.size() < 3) return mixed(unit, "a join whose pieces can't be told apart");
    const NamedDim dim = outer->dim;
    for (size_t i = 0; i + 1 < sorted.size(); ++i) {
      NamedDim part = l_.reindexer.fresh(dim);
      part.extent = sorted[i + 1] - sorted[i];
      const AffineMap to{.offset = sorted[i], .terms = {{part, Dim(1)}}};
      if (!settle(piece(unit, dim, to, {part}), depth + 1)) return false;
    }
    return true;
  }

  bool unroll(const Unit& unit, const NamedDim& dim, int depth) {
    for (int64_t i = 0; i < dim.extent.constant().value_or(0); ++i) {
      if (!settle(piece(unit, dim, affine_constant(Dim(i)), {}), depth + 1)) return false;
    }
    return true;
  }

  Unit piece(const Unit& unit, const NamedDim& dim, const AffineMap& to, const std::vector<NamedDim>& columns) {
    Unit part = unit;
    const Substitution at{{dim.name, to}};
    part.value = l_.reindexer.at(unit.value, at);
    std::erase_if(part.columns, [&](const NamedDim& d) { return d.name == dim.name; });
    part.columns.insert(part.columns.end(), columns.begin(), columns.end());
    for (auto& map : part.index) map = substitute(map, at);
    return part;
  }

  Lowering& l_;
  std::vector<Unit>& settled_;
};

}  // namespace

bool check_rows(Lowering& l, const Unit& unit, const Uses& uses, bool rows_reduced) {
  for (const Read& read : uses.accumulator) {
    for (const auto& row : l.roles.rows) {
      const AffineMap& map = read.at.at(row.name);
      const bool bound =
          std::any_of(map.terms.begin(), map.terms.end(), [](const auto& t) { return is_bound(t.dim.name); });
      if ((rows_reduced && bound) || map == affine(row)) continue;
      if (bound) {
        refuse_wide(l, unit, read.reductions.empty() ? kNoNode : read.reductions.front());
      } else {
        LayoutFailure failure;
        failure.detail = "row `" + formula(map) + "` is not the row `" + row.name + "` of the element";
        refuse(l, unit, failure);
      }
      return false;
    }
  }
  return true;
}

bool settle(Lowering& lowering, Unit unit, std::vector<Unit>& settled) {
  return Settler(lowering, settled).settle(std::move(unit), 0);
}

}  // namespace coda
