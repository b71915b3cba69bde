// Views that name a range of a dimension, groups in it, and perhaps a half of each group: what the heads of queries,
// keys and values are, once pieces of pieces are one map. Printed as `split`, `group` and `halves` or `pairs`.
#include <algorithm>

#include "compiler/print/printer.h"

namespace coda {

namespace {

/// offset = begin + inside; `size` elements from `begin` on are groups of `group` elements.
struct Region {
  Dim begin, size, group, inside;
  NamedDim outer, inner;
  Dim step;  // of the inner dimension: 1 or 2
};

std::optional<Region> as_region(const Node& node) {
  if (node.kind != NodeKind::View || node.map.terms.size() != 2) return std::nullopt;
  for (const size_t i : {size_t{0}, size_t{1}}) {
    const auto &inner = node.map.terms[i], &outer = node.map.terms[1 - i];
    const bool pairs = inner.stride == Dim(2);
    if (!(inner.stride == Dim(1)) && !pairs) continue;
    Region region{.begin = {},
                  .size = outer.stride * outer.dim.extent,
                  .group = outer.stride,
                  .inside = {},
                  .outer = outer.dim,
                  .inner = inner.dim,
                  .step = inner.stride};
    const Dim second = pairs ? Dim(1) : outer.stride - inner.dim.extent;
    const bool fits = outer.stride == inner.dim.extent || outer.stride == inner.dim.extent * Dim(2);
    if (!fits) continue;
    for (const Dim& inside : {Dim(0), second}) {
      region.inside = inside;
      region.begin = node.map.offset - inside;
      // Groups lie at multiples of their size: of the two readings only one does.
      const auto groups = region.begin.divided_by(region.group);
      const bool whole = groups && groups->text().find('/') == std::string::npos;
      if (region.begin.is_zero() || whole) return region;
    }
  }
  return std::nullopt;
}

void replace_dim(std::vector<NamedDim>& dims, const NamedDim& old, const std::vector<NamedDim>& by) {
  const auto at = dims.erase(std::find(dims.begin(), dims.end(), old));
  dims.insert(at, by.begin(), by.end());
}

}  // namespace

/// The range of the node's dimension; all ranges that views of the same value take are cut by one `split`.
Piece Printer::region_of(const Node& node, const Dim& begin, const Dim& size) {
  const Piece x = expression(node.args[0]);
  if (begin.is_zero() && size == node.dim.extent) return x;
  const auto key = [&](const Dim& at) { return std::to_string(node.args[0]) + " " + node.dim.name + " " + at.text(); };
  if (const auto known = parts_.find(key(begin)); known != parts_.end()) return known->second;
  std::vector<std::pair<Dim, Dim>> ranges;  // begin, size
  for (const NodeId other : reachable_) {
    const Node& n = graph_[other];
    if (n.kind != NodeKind::View || n.args != node.args || !(n.dim == node.dim)) continue;
    if (const auto region = as_region(n)) ranges.push_back({region->begin, region->size});
  }
  std::vector<std::pair<Dim, Dim>> chain;
  Dim at;
  while (!(at == node.dim.extent)) {
    const auto next = std::find_if(ranges.begin(), ranges.end(), [&](const auto& range) { return range.first == at; });
    if (next == ranges.end() || chain.size() > ranges.size()) {
      return slice(x, node.dim, begin, {size.text(), size});
    }
    chain.push_back(*next);
    at = at + next->second;
  }
  std::string names, extents;
  for (const auto& [first, length] : chain) {
    Piece part = x;
    part.text = names_.fresh("part");
    part.level = Level::Primary;
    replace_dim(part.dims, node.dim, {{length.text(), length}});
    names += (names.empty() ? "" : ", ") + part.text;
    extents += (extents.empty() ? "" : ", ") + length.text();
    parts_[key(first)] = part;
  }
  if (!parts_.contains(key(begin))) return slice(x, node.dim, begin, {size.text(), size});
  lines_.push_back("let (" + names + ") = " + word("split", x, node.dim, extents).text);
  return parts_.at(key(begin));
}

/// One of `halves(x)` or `pairs(x)` along `dim`, which are taken once.
Piece Printer::half(const Piece& x, const NamedDim& dim, bool pairs, bool second, const NamedDim& part) {
  const std::string call = word(pairs ? "pairs" : "halves", x, dim, "").text;
  const auto key = [&](bool which) { return call + (which ? " 1" : " 0"); };
  if (!parts_.contains(key(false))) {
    std::string names;
    for (const bool which : {false, true}) {
      Piece piece = x;
      piece.text = names_.fresh("part");
      piece.level = Level::Primary;
      replace_dim(piece.dims, dim, {part});
      names += (which ? ", " : "") + piece.text;
      parts_[key(which)] = piece;
    }
    lines_.push_back("let (" + names + ") = " + call);
  }
  return parts_.at(key(second));
}

std::optional<Piece> Printer::region(const Node& node) {
  const auto found = as_region(node);
  // Numbers have no names, and need none but where a word makes them.
  if (!found || found->group.constant() || found->size.constant()) return std::nullopt;
  const bool named = names_.comes_by_itself(found->outer) && names_.comes_by_itself(found->inner);
  if (!named) return std::nullopt;
  Piece range = region_of(node, found->begin, found->size);
  const NamedDim whole =
      found->begin.is_zero() && found->size == node.dim.extent ? node.dim : NamedDim{found->size.text(), found->size};
  const NamedDim group{found->group.text(), found->group};
  Piece grouped = word("group", range, whole, group.name);
  replace_dim(grouped.dims, whole, {found->outer, group});
  if (found->inner.extent == found->group) return grouped;
  return half(grouped, group, found->step == Dim(2), !found->inside.is_zero(), found->inner);
}

}  // namespace coda
