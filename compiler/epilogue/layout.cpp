#include "compiler/epilogue/layout.h"

#include <algorithm>
#include <set>

namespace coda {

namespace {

using Kind = LayoutFailure::Kind;

/// Reductions and dimensions this short with symbolic strides are taken coordinate by coordinate.
constexpr int64_t kShort = 16;

/// One read of the accumulator's columns, split by the current granule.
struct Position {
  Dim symbolic;               ///< offset without its constant
  int64_t constant = 0;       ///< the constant of the offset
  int64_t low = 0, high = 0;  ///< constant + what lies inside the granule, both inclusive
};

class LayoutFinder {
 public:
  LayoutFinder(const std::vector<NamedDim>& dims, const NamedDim& column, const DimFacts& facts, LayoutFailure& failure)
      : dims_(dims), column_(column), facts_(facts), failure_(failure) {}

  std::optional<Layout> find(std::vector<Read> reads) {
    if (!strides(reads)) return std::nullopt;
    for (const bool unrolled : {false, true}) {
      if (unrolled && !unroll(reads)) break;
      for (const int64_t granule : granules()) {
        if (auto layout = attempt(reads, granule)) return layout;
      }
    }
    explain(reads);
    return std::nullopt;
  }

 private:
  struct Digit {
    NamedDim dim;
    int64_t stride;
  };

  bool fail(Kind kind, std::string detail = {}) {
    failure_.kind = kind;
    failure_.detail = std::move(detail);
    return false;
  }
  bool is_own(const std::string& name) const {
    return std::any_of(dims_.begin(), dims_.end(), [&](const NamedDim& d) { return d.name == name; });
  }

  /// The stride of each of the value's dimensions, the same in all reads; digits_ sorted, outermost first.
  bool strides(const std::vector<Read>& reads) {
    std::vector<NamedDim> free;
    for (const auto& dim : dims_) {
      std::optional<Dim> stride;
      for (const Read& read : reads) {
        for (const auto& term : read.at.at(column_.name).terms) {
          if (term.dim.name != dim.name) continue;
          if (stride && !(*stride == term.stride)) {
            return fail(Kind::Mixed, "`" + dim.name + "` runs through the columns with strides `" + stride->text() +
                                         "` and `" + term.stride.text() + "`");
          }
          stride = term.stride;
        }
      }
      if (!stride) {
        free.push_back(dim);
        continue;
      }
      const auto constant = stride->constant();
      if (!constant || *constant <= 0) {
        failure_.dim = dim;
        failure_.symbols = stride->symbols();
        const auto extent = dim.extent.constant();
        return fail(extent && *extent <= kShort ? Kind::Unroll : Kind::Unbound);
      }
      digits_.push_back({dim, *constant});
    }
    // A dimension that no read follows can still be the innermost one of a granule, if it fits there.
    for (const auto& dim : free) {
      const auto extent = dim.extent.constant();
      const bool taken = std::any_of(digits_.begin(), digits_.end(), [](const Digit& d) { return d.stride == 1; });
      if (!extent || *extent > kWidestGranule || taken || free.size() > 1 || reads.empty()) {
        failure_.dim = dim;
        return fail(Kind::Foreign);
      }
      digits_.push_back({dim, 1});
      least_granule_ = std::max<int64_t>(1, *extent);
    }
    std::stable_sort(digits_.begin(), digits_.end(),
                     [](const Digit& a, const Digit& b) { return a.stride > b.stride; });
    for (size_t i = 1; i < digits_.size(); ++i) {
      const auto extent = digits_[i].dim.extent.constant();
      if (!extent) {
        failure_.symbols = digits_[i].dim.extent.symbols();
        return fail(Kind::Unbound);
      }
      if (digits_[i - 1].stride < digits_[i].stride * std::max<int64_t>(*extent, 1)) {
        return fail(Kind::Mixed, "`" + digits_[i - 1].dim.name + "` and `" + digits_[i].dim.name + "` overlap");
      }
    }
    return true;
  }

  /// Candidates in increasing order: nothing mixes, a period of one of the digits, all columns.
  std::vector<int64_t> granules() const {
    std::set<int64_t> list{1};
    for (const auto& digit : digits_) list.insert(digit.stride);
    if (!digits_.empty()) {
      if (const auto extent = digits_[0].dim.extent.constant())
        list.insert(digits_[0].stride * std::max<int64_t>(*extent, 1));
    }
    list.insert(least_granule_);
    std::vector<int64_t> fitting;
    for (const int64_t g : list) {
      if (g >= least_granule_ && g <= kWidestGranule) fitting.push_back(g);
    }
    return fitting;
  }

  /// Replaces short bound dimensions that leave the granule by one read a coordinate. False if there are none.
  bool unroll(std::vector<Read>& reads) const {
    bool any = false;
    std::vector<Read> result;
    for (Read& read : reads) {
      std::vector<AffineMap> maps{read.at[column_.name]};
      for (const auto& term : read.at[column_.name].terms) {
        const auto extent = term.dim.extent.constant();
        if (is_own(term.dim.name) || !extent || *extent > kShort || *extent < 1) continue;
        const auto stride = term.stride.constant();
        if (stride && *stride * *extent <= kWidestGranule && !digits_.empty() && digits_.back().stride > *stride)
          continue;
        any = true;
        std::vector<AffineMap> expanded;
        for (const auto& map : maps) {
          for (int64_t i = 0; i < *extent; ++i) {
            expanded.push_back(substitute(map, {{term.dim.name, affine_constant(Dim(i))}}));
          }
        }
        maps = std::move(expanded);
        if (maps.size() > 64) return false;
      }
      for (auto& map : maps) {
        result.push_back(read);
        result.back().at[column_.name] = std::move(map);
      }
    }
    reads = std::move(result);
    return any;
  }

  /// Splits a read into what selects the granule, which must be the value's own outer dimensions, and its place inside.
  std::optional<Position> place(const Read& read, int64_t granule) const {
    const AffineMap& map = read.at.at(column_.name);
    Position p;
    p.constant = map.offset.constant_term();
    p.symbolic = map.offset - Dim(p.constant);
    p.low = p.high = p.constant;
    size_t outer = 0;
    for (const auto& term : map.terms) {
      const auto stride = term.stride.constant();
      if (!stride || *stride <= 0) return std::nullopt;
      const auto limit = read.limits.find(term.dim.name);
      if (*stride % granule == 0) {
        if (!is_own(term.dim.name) || limit != read.limits.end()) return std::nullopt;
        ++outer;
        continue;
      }
      const auto extent = term.dim.extent.constant();
      if (*stride > granule || !extent) return std::nullopt;
      const int64_t first = limit == read.limits.end() ? 0 : limit->second.first;
      const int64_t count = limit == read.limits.end() ? *extent : limit->second.second;
      p.low += first * *stride;
      p.high += (first + std::max<int64_t>(count, 1) - 1) * *stride;
    }
    const auto wanted = std::count_if(digits_.begin(), digits_.end(),
                                      [&](const Digit& d) { return d.stride % granule == 0 && d.stride >= granule; });
    if (static_cast<int64_t>(outer) != wanted)
      return std::nullopt;  // a granule's value needs another granule's columns
    return p;
  }

  std::optional<Layout> attempt(const std::vector<Read>& reads, int64_t granule) {
    // A value that reads nothing lies on the columns by its dimension's name.
    std::vector<Position> positions;
    for (const Read& read : reads) {
      const auto position = place(read, granule);
      if (!position) return std::nullopt;
      positions.push_back(*position);
    }
    if (positions.empty() || digits_.empty()) return std::nullopt;
    const int64_t period = std::max(granule, digits_[0].stride);
    // How far the digits below the outermost reach beyond a read's place, as far as they are not counted in it.
    int64_t width = 0, inner = 0;
    for (size_t i = 0; i < digits_.size(); ++i) {
      const int64_t reach =
          digits_[i].stride * (std::max<int64_t>(digits_[i].dim.extent.constant().value_or(1), 1) - 1);
      if (digits_[i].stride % granule != 0) {
        inner += reach;
      } else if (i > 0) {
        width += reach;
      }
    }
    for (const bool aligned : {true, false}) {
      std::map<Dim, int64_t> least;  // per symbolic offset: where its periods start
      for (const auto& p : positions) {
        const auto [it, fresh] = least.emplace(p.symbolic, p.low);
        if (!fresh) it->second = std::min(it->second, p.low);
      }
      for (auto& [symbolic, start] : least) {
        if (aligned && facts_.divisible(symbolic, period)) start = 0;
      }
      if (auto layout = with_periods(positions, least, granule, period, width, inner)) return layout;
      if (failure_.kind == Kind::Undecided) return std::nullopt;
    }
    return std::nullopt;
  }

  std::optional<Layout> with_periods(const std::vector<Position>& positions, const std::map<Dim, int64_t>& start,
                                     int64_t granule, int64_t period, int64_t width, int64_t inner) {
    Layout layout;
    layout.granule = granule;
    std::optional<int64_t> common;  // the granule (of a period) that all reads are in
    std::optional<int64_t> phase;
    int64_t last = 0;
    for (const auto& p : positions) {
      const int64_t from = start.at(p.symbolic);
      const int64_t whole = floor_div(p.low - from, period) * period + from;
      const Dim base = p.symbolic + Dim(whole);
      const int64_t low = p.low - whole, high = p.high - whole;
      if (high + width >= period && period > 1) return std::nullopt;
      const int64_t index = floor_div(low, granule);
      if (floor_div(high, granule) != index || (common && *common != index)) return std::nullopt;
      common = index;
      last = std::max(last, high);
      const int64_t place = p.constant - whole;
      const bool inside = place >= index * granule && place + inner < (index + 1) * granule;
      if (inside && (!phase || place < *phase)) phase = place;
      if (std::find(layout.segments.begin(), layout.segments.end(), base) == layout.segments.end()) {
        layout.segments.push_back(base);
      }
    }
    layout.columns.phase = phase.value_or(*common * granule);
    for (const auto& digit : digits_) {
      layout.columns.digits.push_back({digit.dim, digit.dim.extent, Dim(digit.stride), Dim()});
    }
    // Elements beyond what is read need columns to lie on, too.
    const int64_t reach = layout.columns.phase + inner;
    if (reach >= (*common + 1) * granule) return std::nullopt;
    const Dim count = digits_[0].dim.extent;
    const bool outer_in_granule = digits_[0].stride < granule;
    layout.extent = outer_in_granule ? Dim(granule) : count * Dim(digits_[0].stride);
    const bool fits = std::all_of(layout.segments.begin(), layout.segments.end(), [&](const Dim& base) {
      return facts_.at_most(base + layout.extent, column_.extent);
    });
    if (!fits && reach > last) return std::nullopt;
    if (!fits) {  // the last period is cut off where nothing more is needed
      layout.extent = (outer_in_granule ? Dim() : (count - Dim(1)) * Dim(digits_[0].stride)) + Dim(last + width + 1);
    }
    return disjoint(layout) ? std::optional(layout) : std::nullopt;
  }

  bool disjoint(const Layout& layout) {
    for (size_t i = 0; i < layout.segments.size(); ++i) {
      for (size_t j = i + 1; j < layout.segments.size(); ++j) {
        const Dim &a = layout.segments[i], &b = layout.segments[j];
        if (facts_.at_most(a + layout.extent, b) || facts_.at_most(b + layout.extent, a)) continue;
        const Dim distance = b - a;
        const bool overlap = (facts_.not_negative(distance) && facts_.less(distance, layout.extent)) ||
                             (facts_.not_negative(a - b) && facts_.less(a - b, layout.extent));
        if (!overlap && !distance.constant()) {
          failure_.symbols = distance.symbols();
          return fail(Kind::Undecided, "columns from `" + a.text() + "` and from `" + b.text() + "`, each `" +
                                           layout.extent.text() + "` wide");
        }
        return false;
      }
    }
    return true;
  }

  static int64_t floor_div(int64_t a, int64_t b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

  /// Why no granule did.
  void explain(const std::vector<Read>& reads) {
    if (failure_.kind == Kind::Undecided && !failure_.detail.empty()) return;
    failure_.detail.clear();
    for (const Read& read : reads) {
      for (const auto& term : read.at.at(column_.name).terms) {
        if (is_own(term.dim.name)) continue;
        const auto extent = term.dim.extent.constant();
        const auto stride = term.stride.constant();
        const bool wide = !extent || !stride || *extent * *stride > kWidestGranule;
        if (!wide) continue;
        if (!read.reductions.empty()) failure_.reduction = read.reductions.front();
        // With other columns beside it, it is a group inside the columns: it only has to be known.
        std::set<std::string> symbols = term.dim.extent.symbols();
        symbols.merge(term.stride.symbols());
        const bool whole = term.dim.extent == column_.extent || symbols.empty();
        if (!whole && !read.reductions.empty() && !digits_.empty() && follows(read)) {
          failure_.symbols = std::move(symbols);
          fail(Kind::Unbound);
        } else {
          fail(read.reductions.empty() ? Kind::Mixed : Kind::Wide,
               "they lie along `" + original_name(term.dim.name) + "`");
        }
        return;
      }
    }
    int64_t needed = 0;
    for (const auto& digit : digits_) needed = std::max(needed, digit.stride);
    failure_.width = needed;
    if (needed > kWidestGranule) {
      fail(Kind::TooWide);
    } else {
      fail(Kind::Mixed, "they are shifted against one another");
    }
  }

  /// Does the read also depend on one of the value's own dimensions?
  bool follows(const Read& read) const {
    const auto& terms = read.at.at(column_.name).terms;
    return std::any_of(terms.begin(), terms.end(), [&](const auto& t) { return is_own(t.dim.name); });
  }

  const std::vector<NamedDim>& dims_;
  const NamedDim& column_;
  const DimFacts& facts_;
  LayoutFailure& failure_;
  std::vector<Digit> digits_;
  int64_t least_granule_ = 1;
};

}  // namespace

int64_t Layout::cut_unit() const {
  const int64_t outermost = columns.digits.empty() ? 1 : columns.digits[0].stride.constant().value_or(1);
  return std::max(granule, outermost);
}

std::optional<Layout> lay_out(const std::vector<NamedDim>& dims, const std::vector<Read>& reads, const NamedDim& column,
                              const DimFacts& facts, LayoutFailure& failure) {
  if (!reads.empty()) return LayoutFinder(dims, column, facts, failure).find(reads);
  // No use of the accumulator: the value lies on the columns by the name of its dimension.
  Read by_name;
  by_name.at[column.name] = affine(column);
  for (const auto& dim : dims) {
    if (dim.name == column.name) continue;
    failure.kind = Kind::Foreign;
    failure.dim = dim;
    return std::nullopt;
  }
  return LayoutFinder(dims, column, facts, failure).find({by_name});
}

}  // namespace coda
