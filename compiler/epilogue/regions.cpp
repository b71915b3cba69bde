#include "compiler/epilogue/regions.h"

#include <algorithm>
#include <numeric>

namespace coda {

namespace {

constexpr size_t kMostCuts = 256;

class RegionCutter {
 public:
  RegionCutter(const std::vector<Layout>& layouts, const DimFacts& facts, CutFailure& failure)
      : layouts_(layouts), facts_(facts), failure_(failure) {}

  std::optional<RegionCut> cut() {
    if (!find_points()) return std::nullopt;
    tie_cells();
    RegionCut result;
    if (!make_regions(result) || !make_pieces(result)) return std::nullopt;
    return result;
  }

 private:
  bool fail(CutFailure::Kind kind, const Dim& a, const Dim& b, int layout = -1) {
    failure_ = {kind, a, b, layout};
    return false;
  }

  /// Keeps points_ sorted. False if the place of `point` can't be proved.
  bool insert(const Dim& point) {
    size_t i = 0;
    for (; i < points_.size(); ++i) {
      if (points_[i] == point) return true;
      if (facts_.at_most(points_[i], point)) continue;
      if (!facts_.at_most(point, points_[i])) return fail(CutFailure::Kind::Undecided, points_[i], point);
      break;
    }
    // What follows must lie behind it: otherwise the order of three is not known.
    for (size_t j = i; j < points_.size(); ++j) {
      if (!facts_.at_most(point, points_[j])) return fail(CutFailure::Kind::Undecided, points_[j], point);
    }
    points_.insert(points_.begin() + static_cast<ptrdiff_t>(i), point);
    return points_.size() <= kMostCuts || fail(CutFailure::Kind::TooMany, {}, {});
  }

  bool inside(const Dim& point, const Dim& begin, const Dim& extent) const {
    return facts_.at_most(begin, point) && facts_.at_most(point, begin + extent);
  }

  /// All borders, and the image of each border of one segment in its sibling segments.
  bool find_points() {
    for (const auto& layout : layouts_) {
      for (const auto& base : layout.segments) {
        if (!insert(base) || !insert(base + layout.extent)) return false;
      }
    }
    for (bool changed = true; changed;) {
      changed = false;
      for (const auto& layout : layouts_) {
        if (layout.segments.size() < 2) continue;
        for (const auto& base : layout.segments) {
          const std::vector<Dim> known = points_;
          for (const auto& point : known) {
            if (!inside(point, base, layout.extent)) continue;
            for (const auto& other : layout.segments) {
              const size_t before = points_.size();
              if (!insert(other + (point - base))) return false;
              changed = changed || points_.size() != before;
            }
          }
        }
      }
    }
    return true;
  }

  size_t cell_at(const Dim& start) const {
    return static_cast<size_t>(std::find(points_.begin(), points_.end(), start) - points_.begin());
  }
  /// The cells [first, last) of a segment.
  std::pair<size_t, size_t> cells(const Dim& base, const Dim& extent) const {
    return {cell_at(base), cell_at(base + extent)};
  }
  size_t root(size_t cell) const {
    while (parent_[cell] != cell) cell = parent_[cell];
    return cell;
  }

  void tie_cells() {
    parent_.resize(points_.size());
    std::iota(parent_.begin(), parent_.end(), size_t{0});
    needed_.assign(points_.size(), false);
    for (const auto& layout : layouts_) {
      const auto [first, last] = cells(layout.segments[0], layout.extent);
      for (size_t cell = first; cell < last; ++cell) {
        const Dim from = points_[cell] - layout.segments[0];
        for (const auto& base : layout.segments) {
          const size_t sibling = cell_at(base + from);
          needed_[sibling] = true;
          const size_t a = root(cell), b = root(sibling);
          parent_[std::max(a, b)] = std::min(a, b);
        }
      }
    }
  }

  bool make_regions(RegionCut& result) {
    region_of_.assign(points_.size(), -1);
    for (size_t cell = 0; cell + 1 < points_.size(); ++cell) {
      if (!needed_[cell]) continue;
      const size_t r = root(cell);
      if (region_of_[r] < 0) {
        region_of_[r] = static_cast<int>(result.regions.size());
        result.regions.push_back({.extent = points_[cell + 1] - points_[cell], .segments = {}, .granule = 1});
      }
      region_of_[cell] = region_of_[r];
      result.regions[static_cast<size_t>(region_of_[cell])].segments.push_back(points_[cell]);
    }
    return true;
  }

  bool make_pieces(RegionCut& result) {
    for (size_t i = 0; i < layouts_.size(); ++i) {
      const Layout& layout = layouts_[i];
      const auto [first, last] = cells(layout.segments[0], layout.extent);
      std::vector<RegionPiece> pieces;
      for (size_t cell = first; cell < last; ++cell) {
        RegionPiece piece{region_of_[cell], points_[cell] - layout.segments[0], points_[cell + 1] - points_[cell], {}};
        const bool whole = cell == first && cell + 1 == last;
        if (!whole && !cut_digits(layout, piece, cell == first, cell + 1 == last, static_cast<int>(i))) return false;
        if (whole) piece.columns = layout.columns;
        Region& region = result.regions[static_cast<size_t>(piece.region)];
        region.granule = std::lcm(region.granule, layout.granule);
        if (region.granule > kWidestGranule) return fail(CutFailure::Kind::TooWide, Dim(region.granule), {});
        pieces.push_back(std::move(piece));
      }
      result.pieces.push_back(std::move(pieces));
    }
    return true;
  }

  /// A cut goes between two values of the outermost digit.
  bool cut_digits(const Layout& layout, RegionPiece& piece, bool first, bool last, int index) {
    const Dim unit(layout.cut_unit());
    piece.columns = layout.columns;
    if (layout.columns.digits.empty()) return true;
    ColumnDigit& outer = piece.columns.digits[0];
    const auto begin = facts_.exact_quotient(piece.from, unit);
    const auto end = facts_.exact_quotient(piece.from + piece.extent, unit);
    const bool aligned = (first || begin) && (last || end) && Dim(layout.cut_unit()) == outer.stride;
    if (!aligned)
      return fail(CutFailure::Kind::Misaligned, first ? piece.from + piece.extent : piece.from, unit, index);
    outer.offset = first ? Dim() : *begin;
    outer.extent = (last ? layout.columns.digits[0].extent : *end) - outer.offset;
    return true;
  }

  const std::vector<Layout>& layouts_;
  const DimFacts& facts_;
  CutFailure& failure_;
  std::vector<Dim> points_;
  std::vector<size_t> parent_;
  std::vector<bool> needed_;
  std::vector<int> region_of_;
};

}  // namespace

std::optional<RegionCut> cut_regions(const std::vector<Layout>& layouts, const DimFacts& facts, CutFailure& failure) {
  return RegionCutter(layouts, facts, failure).cut();
}

}  // namespace coda
