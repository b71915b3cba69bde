// Index maps and their adjoints in normal form: they go down through elementwise work to inputs and contractions.
#include <algorithm>

#include "compiler/epilogue/affine.h"
#include "compiler/rewrite/algebra.h"

namespace coda {

NodeId Algebra::view(NodeId x, const NamedDim& dim, const AffineMap& map, Span span) {
  const Node node = graph_[x];
  if (!node.has_dim(dim.name)) return x;
  const auto inside = [&](NodeId arg) { return view(arg, dim, map, span); };
  const bool elementwise = node.kind == NodeKind::Sum || node.kind == NodeKind::Apply || node.kind == NodeKind::Cast ||
                           (node.kind == NodeKind::Contract && node.over.empty());
  if (elementwise && on(kMapInward)) {
    std::vector<NodeId> args;
    for (const NodeId arg : node.args) args.push_back(inside(arg));
    return note(kMapInward, rebuild(node, std::move(args)), {{"f", x}}, span);
  }
  if (node.kind == NodeKind::Put && node.dim == dim && on(kPieceOfJoin)) return put_view(node, dim, map, span);
  if (node.kind == NodeKind::Put && !(node.dim == dim)) {
    return put(inside(node.args[0]), node.dim, node.map, span);
  }
  if (node.kind == NodeKind::View && on(kMapOfMap)) {  // a piece of a piece is one piece
    const bool of_piece =
        std::any_of(node.map.terms.begin(), node.map.terms.end(), [&](const auto& term) { return term.dim == dim; });
    if (of_piece) {
      const NodeId piece = graph_.view(node.args[0], node.dim, coda::substitute(node.map, {{dim.name, map}}), span);
      return note(kMapOfMap, piece, {{"x", node.args[0]}}, span);
    }
  }
  return graph_.view(x, dim, map, span);
}

/// Pieces side by side: a view of one sees what was put there, or nothing of another.
NodeId Algebra::put_view(const Node& node, const NamedDim& dim, const AffineMap& map, Span span) {
  if (node.map == map) return note(kPieceOfJoin, node.args[0], {{"a", node.args[0]}}, span);
  const auto last = [](const AffineMap& m) {
    Dim end = m.offset;
    for (const auto& term : m.terms) end = end + term.stride * (term.dim.extent - Dim(1));
    return end;
  };
  if (facts_.less(last(node.map), map.offset) || facts_.less(last(map), node.map.offset)) return graph_.constant(0);
  return graph_.view(graph_.put(node.args[0], node.dim, node.map, node.span), dim, map, span);
}

NodeId Algebra::put(NodeId x, const NamedDim& dim, const AffineMap& map, Span span) {
  const Node node = graph_[x];
  if (node.kind == NodeKind::Constant && node.value == 0) return x;
  const bool has_all =
      std::all_of(map.terms.begin(), map.terms.end(), [&](const auto& term) { return node.has_dim(term.dim.name); });
  if (node.kind == NodeKind::Sum && has_all && node.args.size() == 1) {
    return scaled(node.coefficients[0], put(node.args[0], dim, map, span), span);
  }
  return graph_.put(x, dim, map, span);
}

}  // namespace coda
