// Index maps: the words of shape where a map is one, an indexed read where it is not.
#include <algorithm>

#include "compiler/print/printer.h"

namespace coda {

std::optional<std::vector<NamedDim>> digits_of(const AffineMap& map) {
  std::vector<NamedDim> digits;
  std::vector<AffineMap::Term> rest = map.terms;
  Dim stride(1);
  while (!rest.empty()) {  // the innermost first
    const auto it =
        std::find_if(rest.begin(), rest.end(), [&](const AffineMap::Term& term) { return term.stride == stride; });
    if (it == rest.end()) return std::nullopt;
    stride = stride * it->dim.extent;
    digits.insert(digits.begin(), it->dim);
    rest.erase(it);
  }
  return digits;
}

namespace {

Dim size_of(const AffineMap& map) {
  Dim size(1);
  for (const auto& term : map.terms) size = size * term.dim.extent;
  return size;
}

void replace(std::vector<NamedDim>& dims, const NamedDim& old, const std::vector<NamedDim>& by) {
  const auto at = dims.erase(std::find(dims.begin(), dims.end(), old));
  dims.insert(at, by.begin(), by.end());
}

/// A map of one step 1 that starts at 0 and covers its dimension.
bool is_rename(const NamedDim& dim, const AffineMap& map) {
  return map.terms.size() == 1 && map.offset.is_zero() && map.terms[0].stride == Dim(1) &&
         map.terms[0].dim.extent == dim.extent;
}

bool is_piece(const AffineMap& map) { return map.terms.size() == 1 && map.terms[0].stride == Dim(1); }

}  // namespace

/// `x[from as to]`, unless the dimension is called so already.
Piece Printer::renamed(Piece x, const std::string& from, const NamedDim& to) {
  const std::string& name = names_.spelled(to);
  if (from == name) return x;
  x.text = x.at(Level::Primary) + "[" + from + " as " + name + "]";
  x.level = Level::Primary;
  return x;
}

/// `name(x, arguments)`, with `dim =` unless the dimension is the last.
Piece Printer::word(const std::string& name, const Piece& x, const NamedDim& dim, const std::string& arguments) {
  Piece result = x;
  result.text = name + "(" + x.text + (arguments.empty() ? "" : ", " + arguments);
  if (!(x.dims.back() == dim)) result.text += ", dim = " + names_.spelled(dim);
  result.text += ")";
  result.level = Level::Primary;
  return result;
}

Piece Printer::gathered(Piece x, const NamedDim& dim, const Piece& index) {
  std::string keyword = names_.spelled(dim);
  if (!is_identifier(keyword)) {
    const std::string alias = names_.fresh("G1");
    x.text = x.at(Level::Primary) + "[" + keyword + " as " + alias + "]";
    keyword = alias;
  }
  Piece result;
  ptrdiff_t place = 0;
  for (const NamedDim& d : x.dims) {
    if (d == dim) place = static_cast<ptrdiff_t>(result.dims.size());
    if (!(d == dim)) result.dims.push_back(d);
  }
  const auto others = static_cast<ptrdiff_t>(result.dims.size());
  broadcast_with(result.dims, index.dims);
  // As the front end orders them: in the place of what is indexed.
  std::rotate(result.dims.begin() + place, result.dims.begin() + others, result.dims.end());
  result.text = "gather(" + x.text + ", " + keyword + " = " + index.text + ")";
  result.is_stored = x.is_stored;
  return result;
}

/// The part of `dim` from `offset` on.
Piece Printer::slice(const Piece& x, const NamedDim& dim, const Dim& offset, const NamedDim& part) {
  const Dim rest = dim.extent - offset - part.extent;
  std::string extents, parts;
  const std::string name = names_.fresh("part");
  const auto add = [&](const Dim& extent, const std::string& called) {
    if (extent.is_zero()) return;
    extents += (extents.empty() ? "" : ", ") + extent.text();
    parts += (parts.empty() ? "" : ", ") + (called.empty() ? names_.fresh("unused") : called);
  };
  add(offset, "");
  add(part.extent, name);
  add(rest, "");
  lines_.push_back("let (" + parts + ") = " + word("split", x, dim, extents).text);
  Piece result = x;
  replace(result.dims, dim, {part});
  result.text = name;
  result.level = Level::Primary;
  return names_.comes_by_itself(part) ? result : renamed(result, part.extent.text(), part);
}

/// One of several views of one value that take a dimension apart without a gap, or as pairs: one word gives them all.
std::optional<Piece> Printer::cut(NodeId id, const Node& node) {
  std::vector<NodeId> family;
  for (const NodeId other : reachable_) {
    const Node& n = graph_[other];
    const bool fits = n.kind == NodeKind::View && n.args == node.args && n.dim == node.dim && n.map.terms.size() == 1 &&
                      n.map.terms[0].stride == node.map.terms[0].stride;
    if (fits) family.push_back(other);
  }
  const bool pairs = node.map.terms[0].stride == Dim(2);
  std::vector<NodeId> parts;
  Dim at;
  const Dim end = pairs ? Dim(2) : node.dim.extent;
  while (!(at == end)) {
    const auto next = std::find_if(family.begin(), family.end(), [&](NodeId n) { return graph_[n].map.offset == at; });
    if (next == family.end()) return std::nullopt;
    const Dim& extent = graph_[*next].map.terms[0].dim.extent;
    if (pairs && !(extent * Dim(2) == node.dim.extent)) return std::nullopt;
    if (extent.is_zero()) return std::nullopt;
    at = at + (pairs ? Dim(1) : extent);
    parts.push_back(*next);
    family.erase(next);
  }
  if (parts.size() < 2 || std::find(parts.begin(), parts.end(), id) == parts.end()) return std::nullopt;
  const Piece x = expression(node.args[0]);
  const auto extent_of = [&](NodeId n) -> const NamedDim& { return graph_[n].map.terms[0].dim; };
  const bool halves = parts.size() == 2 && extent_of(parts[0]).extent == extent_of(parts[1]).extent;
  std::string names, extents;
  std::vector<Piece> pieces;
  for (const NodeId n : parts) {
    const auto known = program_.value_names.find(n);
    const bool direct = names_.comes_by_itself(extent_of(n)) && known != program_.value_names.end();
    const std::string name = names_.fresh(direct ? known->second : "part");
    names += (names.empty() ? "" : ", ") + name;
    extents += (extents.empty() ? "" : ", ") + extent_of(n).extent.text();
    Piece piece = x;
    replace(piece.dims, node.dim, {extent_of(n)});
    piece.text = name;
    piece.level = Level::Primary;
    pieces.push_back(std::move(piece));
  }
  const std::string call = pairs    ? word("pairs", x, node.dim, "").text
                           : halves ? word("halves", x, node.dim, "").text
                                    : word("split", x, node.dim, extents).text;
  lines_.push_back("let (" + names + ") = " + call);
  for (size_t i = 0; i < parts.size(); ++i) {
    const NamedDim& dim = extent_of(parts[i]);
    const bool own = names_.comes_by_itself(dim);
    done_[parts[i]] = own ? pieces[i] : named(parts[i], renamed(pieces[i], dim.extent.text(), dim));
  }
  return done_.at(id);
}

/// `group` of one dimension into digits, as often as there are digits.
std::optional<Piece> Printer::grouped(Piece x, const NamedDim& dim, const AffineMap& map) {
  const auto digits = digits_of(map);
  if (!digits || digits->size() < 2 || !map.offset.is_zero() || !(size_of(map) == dim.extent)) return std::nullopt;
  NamedDim whole = dim;
  for (size_t i = digits->size(); i-- > 1;) {  // the innermost is taken off first
    const NamedDim& inner = (*digits)[i];
    const auto count = whole.extent.divided_by(inner.extent);
    if (!count) return std::nullopt;
    const NamedDim outer = i == 1 ? (*digits)[0] : NamedDim{count->text(), *count};
    const std::string& name = names_.spelled(inner);
    const bool by_itself = names_.comes_by_itself(inner) || !is_identifier(name);
    Piece made = word("group", x, whole, by_itself ? inner.extent.text() : name + " = " + inner.extent.text());
    replace(made.dims, whole, {outer, inner});
    if (by_itself && !names_.comes_by_itself(inner)) made = renamed(made, inner.extent.text(), inner);
    if (i == 1 && !names_.comes_by_itself(outer)) made = renamed(made, count->text(), outer);
    if (i > 1 && count->symbols().empty()) {
      const std::string alias = names_.fresh("G1");
      made.text += "[" + count->text() + " as " + alias + "]";
      replace(made.dims, outer, {{alias, *count}});
      whole = {alias, *count};
    } else {
      whole = outer;
    }
    x = std::move(made);
  }
  return x;
}

Piece Printer::view(NodeId id, const Node& node) {
  if (is_rename(node.dim, node.map)) {
    Piece x = expression(node.args[0]);
    replace(x.dims, node.dim, {node.map.terms[0].dim});
    return renamed(std::move(x), names_.spelled(node.dim), node.map.terms[0].dim);
  }
  const bool single = node.map.terms.size() == 1;
  if (single && (node.map.terms[0].stride == Dim(1) || node.map.terms[0].stride == Dim(2))) {
    if (auto piece = cut(id, node)) return *piece;
  }
  const Piece x = expression(node.args[0]);
  if (is_piece(node.map)) return slice(x, node.dim, node.map.offset, node.map.terms[0].dim);
  if (auto piece = grouped(x, node.dim, node.map)) return *piece;
  if (auto piece = region(node)) return *piece;
  // Anything else reads by a computed index, which is never outside.
  return gathered(x, node.dim, coordinate(node.map));
}

std::optional<Piece> Printer::flattened(Piece x, const NamedDim& dim, const AffineMap& map) {
  const auto digits = digits_of(map);
  if (!digits || digits->size() < 2 || !map.offset.is_zero() || !(size_of(map) == dim.extent)) return std::nullopt;
  std::string list;
  for (const NamedDim& digit : *digits) list += (list.empty() ? "" : ", ") + names_.spelled(digit);
  const bool last_two = digits->size() == 2 && x.dims.size() >= 2 && x.dims[x.dims.size() - 2] == (*digits)[0] &&
                        x.dims.back() == (*digits)[1];
  Piece result = x;
  result.text = "flatten(" + x.text + (last_two ? "" : ", dim = (" + list + ")") + ")";
  result.level = Level::Primary;
  result.dims.clear();
  for (const NamedDim& d : x.dims) {
    if (d == digits->back()) result.dims.push_back(dim);
    if (std::find(digits->begin(), digits->end(), d) == digits->end()) result.dims.push_back(d);
  }
  return names_.comes_by_itself(dim) ? result : renamed(result, dim.extent.text(), dim);
}

/// A sum of puts side by side along one dimension.
std::optional<Piece> Printer::joined(const std::vector<NodeId>& args, const std::vector<double>& coefficients) {
  if (args.size() < 2) return std::nullopt;
  const Node& first = graph_[args[0]];
  std::vector<size_t> rest;
  for (size_t i = 0; i < args.size(); ++i) {
    const Node& node = graph_[args[i]];
    const bool fits = node.kind == NodeKind::Put && node.dim == first.dim && node.map.terms.size() == 1 &&
                      node.map.terms[0].stride == first.map.terms[0].stride && uses_.at(args[i]) == 1;
    if (!fits) return std::nullopt;
    rest.push_back(i);
  }
  const NamedDim& whole = first.dim;
  const bool pairs = first.map.terms[0].stride == Dim(2);
  if (!pairs && !(first.map.terms[0].stride == Dim(1))) return std::nullopt;
  std::vector<size_t> order;
  Dim at;
  while (!rest.empty()) {
    const auto next =
        std::find_if(rest.begin(), rest.end(), [&](size_t i) { return graph_[args[i]].map.offset == at; });
    if (next == rest.end()) return std::nullopt;
    const Dim& extent = graph_[args[*next]].map.terms[0].dim.extent;
    if (pairs && !(extent * Dim(2) == whole.extent)) return std::nullopt;
    at = at + (pairs ? Dim(1) : extent);
    order.push_back(*next);
    rest.erase(next);
  }
  if (!(at == (pairs ? Dim(2) : whole.extent))) return std::nullopt;
  const NamedDim& own_first = graph_[args[order[0]]].map.terms[0].dim;
  const bool same =
      std::all_of(order.begin(), order.end(), [&](size_t i) { return graph_[args[i]].map.terms[0].dim == own_first; });
  std::vector<Piece> parts;
  bool all_last = true;
  for (const size_t i : order) {
    const Node& node = graph_[args[i]];
    const NodeId inner = node.args[0];
    Piece part = expression(inner);
    const NamedDim& own = node.map.terms[0].dim;
    const bool is_last = !part.dims.empty() && part.dims.back() == own;
    if (!part.has(own) || !(is_last || same)) return std::nullopt;
    all_last = all_last && is_last;
    if (coefficients[i] != 1) {
      const std::vector<NamedDim> dims = part.dims;
      part = sum({inner}, {coefficients[i]});
    }
    parts.push_back(std::move(part));
  }
  if (pairs && (parts.size() != 2 || !same)) return std::nullopt;
  Piece result;
  result.text = pairs ? "join_pairs(" : parts.size() == 2 && same ? "join_halves(" : "concat(";
  for (size_t i = 0; i < parts.size(); ++i) {
    result.text += (i > 0 ? ", " : "") + parts[i].text;
    replace(parts[i].dims, graph_[args[order[i]]].map.terms[0].dim, {whole});
    broadcast_with(result.dims, parts[i].dims);
  }
  result.text += all_last ? ")" : ", dim = " + names_.spelled(own_first) + ")";
  return names_.comes_by_itself(whole) ? result : renamed(result, whole.extent.text(), whole);
}

/// offset + sum of stride * index, for maps that no word says.
Piece Printer::coordinate(const AffineMap& map) {
  const auto number = [&](const Dim& value) { return value.constant() ? Piece{value.text()} : extent(value); };
  Piece result = number(map.offset);
  for (const auto& term : map.terms) {
    const std::string stride = number(term.stride).at(Level::Product);
    result.text = result.at(Level::Sum) + " + " + stride + "*index(" + names_.spelled(term.dim) + ")";
    result.level = Level::Sum;
    result.dims.push_back(term.dim);
  }
  return result;
}

/// What is put where digits overlap or leave gaps: a sum of what lands on each coordinate.
Piece Printer::one_hot(const Piece& x, const Node& node) {
  Piece body = x;
  body.text =
      x.at(Level::Product) + "*to_real(index(" + names_.spelled(node.dim) + ") == " + coordinate(node.map).text + ")";
  body.level = Level::Product;
  body.is_stored = false;
  broadcast_with(body.dims, {node.dim});
  std::vector<NamedDim> over;
  for (const auto& term : node.map.terms) over.push_back(term.dim);
  return over.empty() ? body : reduced("sum", body, over);
}

Piece Printer::put(const Node& node) {
  Piece x = expression(node.args[0]);
  if (is_rename(node.dim, node.map)) {
    replace(x.dims, node.map.terms[0].dim, {node.dim});
    return renamed(std::move(x), names_.spelled(node.map.terms[0].dim), node.dim);
  }
  if (auto piece = flattened(x, node.dim, node.map)) return *piece;
  // Each digit of the coordinate less the offset is an index; what is outside reads 0.
  std::string place = "index(" + names_.spelled(node.dim) + ")";
  if (!node.map.offset.is_zero()) {
    const Piece offset = node.map.offset.constant() ? Piece{node.map.offset.text()} : extent(node.map.offset);
    place += " - " + offset.right_of(Level::Sum);
  }
  std::vector<AffineMap::Term> terms = node.map.terms;
  const auto digits = digits_of(node.map);
  std::vector<NamedDim> order;
  if (digits) order = *digits;
  if (!digits && terms.size() == 1) order = {terms[0].dim};
  if (order.empty()) return one_hot(x, node);
  for (size_t i = 0; i < order.size(); ++i) {
    const auto term =
        std::find_if(terms.begin(), terms.end(), [&](const AffineMap::Term& t) { return t.dim == order[i]; });
    const Piece stride = term->stride.constant() ? Piece{term->stride.text()} : extent(term->stride);
    std::string digit = term->stride == Dim(1) ? place : "floordiv(" + place + ", " + stride.text + ")";
    if (i > 0) {  // inner digits wrap; the outermost says whether the coordinate is outside
      const Dim& extent_of = term->dim.extent;
      const Piece count = extent_of.constant() ? Piece{extent_of.text()} : extent(extent_of);
      digit = "mod(" + digit + ", " + count.text + ")";
    } else if (!digits) {
      digit = "select(mod(" + place + ", " + stride.text + ") == 0, " + digit + ", -1)";
    }
    x = gathered(std::move(x), order[i], {digit, Level::Primary, {node.dim}});
  }
  return x;
}

}  // namespace coda
