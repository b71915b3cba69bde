#include "compiler/codegen/sm90_fragment.h"

#include <algorithm>
#include <numeric>

namespace coda {

Sm90Fragment::Sm90Fragment(const Region& region, const Sm90RegionPlan& plan, int row_slots, const Dim& rows)
    : region_(region), plan_(plan) {
  tile_ = space_.add({.name = "tile", .bound = region.extent, .multiple_of = plan.step});
  quad_low_ = space_.add({.name = "quad0", .count = 2});
  quad_high_ = space_.add({.name = "quad1", .count = 2});
  for (int h = 0; h < row_slots; ++h) {
    rows_.push_back(space_.add({.name = "row" + std::to_string(h), .bound = rows}));
  }
  base_ = Coord::variable(quad_low_, plan.width) + Coord::variable(quad_high_, 2 * plan.width);
  if (!is_one_tile()) base_ = base_ + Coord::variable(tile_);
  for (int i = 0; i < plan.slots(); ++i) space_.assume(column(column_slot(plan, i)), region.extent);
}

bool Sm90Fragment::is_one_tile() const {
  const auto extent = region_.extent.constant();
  return extent && *extent <= plan_.step;
}

void Sm90Fragment::assume_digits(const ColumnSpace& columns) {
  if (columns.digits.empty() || columns.phase != 0) return;
  const ColumnDigit& outermost = columns.digits.front();
  const auto stride = outermost.stride.constant();
  if (!stride || *stride == 1 || !(outermost.extent * outermost.stride == region_.extent)) return;
  for (int i = 0; i < plan_.slots(); ++i) {
    const auto parts = space_.divide(column(column_slot(plan_, i)), *stride);
    if (parts) space_.assume(parts->first, outermost.extent);
  }
}

void Sm90Fragment::assume_digits(const EpilogueProgram& epilogue, int region) {
  for (const Store& store : epilogue.stores) {
    if (store.region == region) assume_digits(store.columns);
  }
  for (const Statistic& statistic : epilogue.statistics) {
    for (const Statistic::Part& part : statistic.parts) {
      if (part.region == region) assume_digits(part.columns);
    }
  }
}

std::optional<int> Sm90Fragment::row_slot(const Coord& row) const {
  for (size_t h = 0; h < rows_.size(); ++h) {
    if (row == Coord::variable(rows_[h])) return static_cast<int>(h);
  }
  return std::nullopt;
}

std::optional<Sm90Fragment::Place> Sm90Fragment::find(const Coord& column) const {
  std::optional<Place> found;
  for (size_t s = 0; s < region_.segments.size(); ++s) {
    const auto slot = (column - Coord::of(region_.segments[s]) - base_).as_constant();
    if (!slot || *slot < 0 || *slot >= plan_.step || *slot % plan_.group() >= plan_.width) continue;
    // Where segments are near, a column is in the one that begins last before it.
    if (!found || *slot < found->slot) found = Place{static_cast<int>(s), static_cast<int>(*slot)};
  }
  return found;
}

bool Sm90Fragment::is_known_early(const Coord& coordinate) const {
  return std::all_of(coordinate.terms().begin(), coordinate.terms().end(),
                     [&](const Coord::Term& term) { return term.variable <= rows_.back(); });
}

bool Sm90Fragment::depends_on_column(const Coord& coordinate) const {
  return std::any_of(coordinate.terms().begin(), coordinate.terms().end(),
                     [&](const Coord::Term& term) { return !is_row(term.variable); });
}

std::optional<Sm90Fragment::Share> Sm90Fragment::share(int64_t extent, int64_t step) const {
  if (step < 1 || plan_.width % step != 0) return std::nullopt;
  const int64_t w = plan_.width / step, group = plan_.group() / step;  // neighbours, of a thread and of a quad
  Share share;
  Coord start;
  int64_t count = extent;  // of a thread
  const bool even = extent % group == 0 || extent == 2 * w || w % extent == 0;
  if (!even && is_one_tile() && region_.extent == Dim(extent * step)) {
    start = Coord::variable(quad_low_, w) + Coord::variable(quad_high_, 2 * w);
    share.shuffles = {1, 2};
    count = extent / group * w + std::min(extent % group, w);
    share.ragged = static_cast<size_t>(extent / group * w);
  } else if (extent % group == 0) {
    start = Coord::variable(quad_low_, w) + Coord::variable(quad_high_, 2 * w);
    share.shuffles = {1, 2};
    count = extent / 4;
  } else if (extent == 2 * w) {
    start = Coord::variable(quad_low_, w);
    share.shuffles = {1};
    count = w;
  } else if (w % extent != 0) {
    return std::nullopt;
  }
  for (int64_t i = 0; i < count; ++i) {
    const int64_t own = share.shuffles.empty() ? i : i / w * group + i % w;
    share.own.push_back(start + Coord(own));
    share.slots.push_back(static_cast<int>(own * step));
  }
  return share;
}

int64_t known_multiple(const CoordSpace& space, const Coord& coordinate) {
  int64_t multiple = std::gcd(int64_t{16}, coordinate.constant());
  for (const Coord::Term& term : coordinate.terms()) {
    const int64_t step = term.factor.numerator * space.facts(term.variable).multiple_of / term.factor.denominator;
    multiple = std::gcd(multiple, step);
  }
  return multiple;
}

}  // namespace coda
