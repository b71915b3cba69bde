#include "compiler/epilogue/reindex.h"

#include <algorithm>

#include "compiler/epilogue/operand.h"

namespace coda {

namespace {

bool is_identity(const std::string& name, const AffineMap& map) {
  const auto dim = as_dimension(map);
  return dim && dim->name == name;
}

bool mentions(const Substitution& substitution, const std::string& name) {
  return std::any_of(substitution.begin(), substitution.end(), [&](const auto& entry) {
    return std::any_of(entry.second.terms.begin(), entry.second.terms.end(),
                       [&](const auto& term) { return term.dim.name == name; });
  });
}

std::string key_of(const Substitution& substitution) {
  std::string key;
  for (const auto& [name, map] : substitution) key += name + "\x1f" + formula(map) + "\x1e";
  return key;
}

}  // namespace

NamedDim Reindexer::fresh(const NamedDim& like) {
  const std::string stem = like.name.substr(0, like.name.find('\''));
  return {stem + "'" + std::to_string(++fresh_), like.extent};
}

void Reindexer::set_leaf(NodeId node, std::function<NodeId(const Substitution&)> read) {
  leaves_[node] = std::move(read);
  memo_.clear();
}

NodeId Reindexer::at(NodeId id, const Substitution& substitution) {
  const Node node = graph_[id];  // a copy: the arena grows below
  Substitution relevant;
  for (const auto& dim : node.dims) {
    const auto it = substitution.find(dim.name);
    if (it != substitution.end() && !is_identity(dim.name, it->second)) relevant.insert(*it);
  }
  const auto key = std::pair(id, key_of(relevant));
  if (const auto it = memo_.find(key); it != memo_.end()) return it->second;
  const NodeId result = rebuild(node, id, relevant);
  memo_[key] = result;
  return result;
}

NodeId Reindexer::rebuild(const Node& node, NodeId id, const Substitution& relevant) {
  if (const auto leaf = leaves_.find(id); leaf != leaves_.end()) return leaf->second(relevant);
  std::vector<NodeId> args;
  switch (node.kind) {
    case NodeKind::Constant:
    case NodeKind::Extent:
      return id;
    case NodeKind::Input:
    case NodeKind::Index:
      return view_leaf(id, relevant);
    case NodeKind::Contract:
    case NodeKind::Reduce:
      return rebuild_reduction(node, relevant);
    case NodeKind::Sum:
      return rebuild_sum(node, relevant);
    case NodeKind::Apply:
      for (const NodeId arg : node.args) args.push_back(at(arg, relevant));
      return graph_.apply(node.op, std::move(args), node.span);
    case NodeKind::Cast:
      return graph_.cast(at(node.args[0], relevant), node.dtype, node.span);
    case NodeKind::View: {
      Substitution inner = relevant;
      // The replaced dimension is gone outside: an outer dimension of its name is another one.
      inner[node.dim.name] = substitute(node.map, relevant);
      return at(node.args[0], inner);
    }
    case NodeKind::Put:
      return rebuild_put(node, relevant);
    case NodeKind::Gather:
      return rebuild_gather(node, relevant);
  }
  return id;
}

NodeId Reindexer::view_leaf(NodeId node, const Substitution& substitution) {
  Substitution rest = substitution;
  std::erase_if(rest, [](const auto& entry) { return is_identity(entry.first, entry.second); });
  const Substitution wanted = rest;
  // Views apply one after the other, a substitution at once: one that would be hit by a later one goes through a fresh
  // name.
  Substitution second;
  for (auto& [name, map] : rest) {
    const bool hit =
        std::any_of(map.terms.begin(), map.terms.end(), [&](const auto& t) { return wanted.contains(t.dim.name); });
    if (!hit) continue;
    NamedDim extent_of{name, Dim()};
    for (const auto& dim : graph_[node].dims) extent_of = dim.name == name ? dim : extent_of;
    const NamedDim temporary = fresh(extent_of);
    second[temporary.name] = map;
    map = affine(temporary);
  }
  for (const Substitution* stage : {&rest, &second}) {
    for (const auto& [name, map] : *stage) {
      const auto& dims = graph_[node].dims;
      const auto it = std::find_if(dims.begin(), dims.end(), [&, n = name](const NamedDim& d) { return d.name == n; });
      if (it != dims.end()) node = graph_.view(node, NamedDim(*it), map, graph_[node].span);
    }
  }
  return node;
}

Substitution Reindexer::open(std::vector<NamedDim>& bound, const Substitution& relevant) {
  Substitution inner = relevant;
  for (auto& dim : bound) {
    inner.erase(dim.name);
    if (!mentions(relevant, dim.name)) continue;
    const NamedDim renamed = fresh(dim);
    inner[dim.name] = affine(renamed);
    dim = renamed;
  }
  return inner;
}

NodeId Reindexer::rebuild_reduction(const Node& node, const Substitution& relevant) {
  std::vector<NamedDim> over;
  for (const auto& dim : node.over) {
    const auto alias = alias_.find(dim.name);
    if (alias == alias_.end()) over.push_back(dim);
    if (alias != alias_.end()) {
      for (const auto& term : alias->second.terms) over.push_back(term.dim);
    }
  }
  Substitution inner = open(over, relevant);
  for (const auto& dim : node.over) {
    const auto alias = alias_.find(dim.name);
    if (alias != alias_.end()) inner[dim.name] = substitute(alias->second, inner);
  }
  std::vector<NodeId> args;
  bool zero = false;
  for (const NodeId arg : node.args) {
    args.push_back(at(arg, inner));
    zero = zero || became_zero(arg, args.back());
  }
  if (node.kind == NodeKind::Contract && zero) return graph_.constant(0, node.num_class);
  // What became a constant lost the reduced dimension with it.
  for (const NamedDim& dim : over) {
    const bool lost = std::none_of(args.begin(), args.end(), [&](NodeId arg) { return graph_[arg].has_dim(dim.name); });
    if (lost) args[0] = graph_.broadcast(args[0], {dim}, node.span);
  }
  if (node.kind == NodeKind::Reduce) return graph_.reduce(node.reduction, args[0], std::move(over), node.span);
  return graph_.contract(std::move(args), std::move(over), node.span);
}

/// A part of a join that isn't the one at hand. A 0 that the program writes stays: it times infinity is no number.
bool Reindexer::became_zero(NodeId source, NodeId result) const {
  const Node& node = graph_[result];
  return node.kind == NodeKind::Constant && node.value == 0 && graph_[source].kind != NodeKind::Constant;
}

NodeId Reindexer::rebuild_sum(const Node& node, const Substitution& relevant) {
  std::vector<NodeId> terms;
  std::vector<double> coefficients;
  bool class_kept = false;
  for (size_t i = 0; i < node.args.size(); ++i) {
    const NodeId term = at(node.args[i], relevant);
    if (became_zero(node.args[i], term)) continue;
    class_kept = class_kept || graph_[term].num_class == node.num_class;
    terms.push_back(term);
    coefficients.push_back(node.coefficients[i]);
  }
  if (terms.empty()) return graph_.constant(0, node.num_class);
  if (!class_kept) {  // what was dropped made the sum Real
    terms.push_back(graph_.constant(0, node.num_class));
    coefficients.push_back(1);
  }
  return graph_.sum(std::move(terms), std::move(coefficients), node.span);
}

std::optional<std::vector<NamedDim>> Reindexer::digits_in_steps(const AffineMap& put, const AffineMap& coordinate,
                                                                const std::function<bool(const std::string&)>& taken) {
  if (coordinate.terms.size() != 1) return std::nullopt;
  const auto& [dim, stride] = coordinate.terms[0];
  const auto step = stride.constant(), first = coordinate.offset.constant();
  if (!step || *step < 2 || !first || *first < 0 || *first >= *step) return std::nullopt;
  const auto digits = whole_regrouping(put, dim.extent * stride);
  if (!digits || digits->size() < 2) return std::nullopt;
  const auto inner = facts_.exact_quotient(digits->back().extent, stride);
  if (!inner) return std::nullopt;
  std::vector<NamedDim> dims;
  for (const NamedDim& digit : *digits) dims.push_back(taken(digit.name) ? fresh(digit) : digit);
  dims.back() = fresh({digits->back().name, *inner});
  return dims;
}

Reindexer::Landing Reindexer::land(const AffineMap& put, const AffineMap& coordinate) const {
  AffineMap rest = add(coordinate, affine_constant(Dim() - put.offset));
  const Dim low = rest.offset, high = greatest(rest);
  if (facts_.less(high, Dim()) || facts_.less(greatest(put) - put.offset, low)) return {Landing::Kind::Outside, {}};

  // Digits of the put, outermost first: each stride a multiple of the next.
  std::vector<AffineMap::Term> digits = put.terms;
  for (size_t i = 0; i < digits.size(); ++i) {
    for (size_t j = i + 1; j < digits.size(); ++j) {
      if (!facts_.exact_quotient(digits[i].stride, digits[j].stride)) {
        if (!facts_.exact_quotient(digits[j].stride, digits[i].stride)) return {};
        std::swap(digits[i], digits[j]);
      }
    }
  }
  Landing landing{Landing::Kind::Inside, {}};
  bool in_range = true;
  for (const auto& digit : digits) {
    AffineMap value, remainder;
    for (const auto& term : rest.terms) {
      if (const auto quotient = facts_.exact_quotient(term.stride, digit.stride)) {
        value.terms.push_back({term.dim, *quotient});
      } else {
        remainder.terms.push_back(term);
      }
    }
    const Dim denominator(rest.offset.denominator());
    for (const auto& [monomial, coefficient] : rest.offset.monomials()) {
      const Dim part = (monomial * Dim(coefficient)).divided_by(denominator).value_or(Dim());
      const auto whole = part.constant();
      const auto stride = digit.stride.constant();
      if (whole && stride) {  // floor, so that the remainder is in [0, stride)
        int64_t quotient = *whole / *stride;
        if (*whole % *stride < 0) --quotient;
        value.offset = value.offset + Dim(quotient);
        remainder.offset = remainder.offset + Dim(*whole - quotient * *stride);
      } else if (const auto exact = facts_.exact_quotient(part, digit.stride)) {
        value.offset = value.offset + *exact;
      } else {
        remainder.offset = remainder.offset + part;
      }
    }
    in_range = in_range && facts_.not_negative(value.offset) && facts_.less(greatest(value), digit.dim.extent);
    landing.digits[digit.dim.name] = normalised(std::move(value));
    rest = normalised(std::move(remainder));
  }
  if (rest.terms.empty() && rest.offset.is_zero()) return in_range ? landing : Landing{};
  // Between the multiples that the put reaches.
  const bool spaced = !digits.empty() && digits.back().stride.constant();
  if (spaced && rest.terms.empty() && rest.offset.constant()) return {Landing::Kind::Outside, {}};
  return {};
}

NodeId Reindexer::rebuild_put(const Node& node, const Substitution& relevant) {
  const auto it = relevant.find(node.dim.name);
  const AffineMap coordinate = it == relevant.end() ? affine(node.dim) : it->second;
  Substitution others = relevant;
  others.erase(node.dim.name);

  const Landing landing = land(node.map, coordinate);
  if (landing.kind == Landing::Kind::Outside) return graph_.constant(0, node.num_class);
  if (landing.kind == Landing::Kind::Inside) {
    for (const auto& [name, map] : landing.digits) others[name] = map;
    return at(node.args[0], others);
  }
  std::vector<NamedDim> bound;
  for (const auto& term : node.map.terms) bound.push_back(term.dim);
  const Substitution inner = open(bound, others);
  const NodeId argument = at(node.args[0], inner);
  AffineMap map{.offset = node.map.offset, .terms = {}};
  for (size_t i = 0; i < bound.size(); ++i) map.terms.push_back({bound[i], node.map.terms[i].stride});
  const bool clash = mentions(others, node.dim.name);
  const NamedDim dim = clash ? fresh(node.dim) : node.dim;
  if (graph_[argument].kind == NodeKind::Constant && graph_[argument].value == 0) return argument;
  // A put needs its dimensions: one that the argument lost (a part of it became 0) is broadcast back.
  const NodeId placed = graph_.broadcast(argument, bound, node.span);
  return graph_.view(graph_.put(placed, dim, std::move(map), node.span), dim, coordinate, node.span);
}

NodeId Reindexer::rebuild_gather(const Node& node, const Substitution& relevant) {
  std::vector<NamedDim> bound{node.dim};
  const Substitution inner = open(bound, relevant);
  const NodeId argument = graph_.broadcast(at(node.args[0], inner), bound, node.span);
  const NodeId index = at(node.args[1], relevant);
  return graph_.gather(argument, bound[0], index, node.span);
}

}  // namespace coda
