#include "compiler/plan/memory_order.h"

#include <algorithm>
#include <tuple>

namespace coda {

namespace {

class MemoryOrder {
 public:
  MemoryOrder(const Algebra& algebra, const Program& block, const Hosting& hosting, const KeptOrder& kept)
      : graph_(algebra.graph()), algebra_(algebra), block_(block), hosting_(hosting), kept_(kept) {}

  /// What is read as one dimension lies as that does. Else a parameter with the same dimensions lends its order.
  std::vector<NamedDim> of(NodeId id) const {
    for (const auto& [flat, value] : hosting_.flattened) {
      if (value == id) return flattened(ranked(id), graph_[flat].map);
    }
    for (const NodeId below : topological(graph_, {id})) {
      const Node& node = graph_[below];
      if (node.kind != NodeKind::Input) continue;
      std::vector<NamedDim> dims = block_.params[static_cast<size_t>(node.param)].dims;
      std::vector<NamedDim> sorted = dims;
      std::sort(sorted.begin(), sorted.end());
      if (sorted == graph_[id].dims) return dims;
    }
    return ranked(id);
  }

 private:
  /// Is it a dimension under another name, and nothing else?
  static bool renames(const Node& node) {
    return node.kind == NodeKind::View && node.map.offset.constant() == 0 && node.map.terms.size() == 1 &&
           node.map.terms[0].stride.constant() == 1 && node.map.terms[0].dim.extent == node.dim.extent;
  }

  /// Rows come first, the depth of the first product that reads it and inner digits last. Names decide nothing.
  std::vector<NamedDim> ranked(NodeId id) const {
    std::map<std::string, double> stride;
    for (const NodeId below : topological(graph_, {id})) {
      if (renames(graph_[below])) continue;  // makes no digits
      for (const auto& term : graph_[below].map.terms) {
        stride[term.dim.name] = std::max(stride[term.dim.name], algebra_.sizes().extent(term.stride));
      }
    }
    std::map<std::string, size_t> place = places_in_memory(id);
    for (const NodeId below : topological(graph_, {id})) {
      const Node& node = graph_[below];
      if (!renames(node)) continue;
      const auto known = place.find(node.dim.name);
      if (known != place.end()) place.emplace(node.map.terms[0].dim.name, known->second);
    }
    const std::vector<NamedDim> rows = rows_of_maker(id), depth = first_depth(id);
    const auto rank = [&](const NamedDim& dim) {
      const auto known = place.find(dim.name);
      const size_t at = known == place.end() ? SIZE_MAX : known->second;
      const bool is_row = rows.empty() ? at == 0 : meet({dim}, rows);
      return std::tuple(!is_row, meet({dim}, depth), -stride[dim.name], at, declared(dim));
    };
    std::vector<NamedDim> order = graph_[id].dims;
    std::stable_sort(order.begin(), order.end(),
                     [&](const NamedDim& a, const NamedDim& b) { return rank(a) < rank(b); });
    return order;
  }

  std::vector<NamedDim> flattened(std::vector<NamedDim> order, const AffineMap& map) const {
    std::vector<AffineMap::Term> terms = map.terms;
    std::stable_sort(terms.begin(), terms.end(), [&](const auto& a, const auto& b) {
      return algebra_.sizes().extent(a.stride) > algebra_.sizes().extent(b.stride);
    });
    std::vector<NamedDim> inner;
    for (const auto& term : terms) inner.push_back(term.dim);
    std::erase_if(order,
                  [&](const NamedDim& dim) { return std::find(inner.begin(), inner.end(), dim) != inner.end(); });
    order.insert(order.end(), inner.begin(), inner.end());
    return order;
  }

  /// Where dimensions lie in the tensors that `id` is made of, each as it is in memory.
  std::map<std::string, size_t> places_in_memory(NodeId id) const {
    std::map<std::string, size_t> place;
    std::set<NodeId> seen;
    std::vector<NodeId> open = {id};
    while (!open.empty()) {
      const NodeId below = open.back();
      open.pop_back();
      if (!seen.insert(below).second) continue;
      const Node& node = graph_[below];
      const std::vector<NamedDim>* stored = kept_(below);
      const bool is_input = node.kind == NodeKind::Input;
      if (below != id && (is_input || stored)) {
        const auto& dims = is_input ? block_.params[static_cast<size_t>(node.param)].dims : *stored;
        for (size_t i = 0; i < dims.size() && dims.size() > 1; ++i) place.emplace(dims[i].name, i);
        continue;  // what that was made of lies elsewhere
      }
      open.insert(open.end(), node.args.rbegin(), node.args.rend());
    }
    return place;
  }

  /// Of the product whose epilogue makes `id`, or of the pass that does; empty if there is nothing to tell them by.
  std::vector<NamedDim> rows_of_maker(NodeId id) const {
    const auto home = hosting_.home.find(id);
    if (home == hosting_.home.end() || home->second < 0) return {};
    const HostKernel& kernel = hosting_.kernels[static_cast<size_t>(home->second)];
    if (!kernel.operands.empty()) {
      const Node& product = graph_[kernel.accumulator];
      const std::vector<NamedDim> rows = intersection(graph_[kernel.operands[0]].dims, product.dims);
      const std::vector<NamedDim> there = followed(kernel.accumulator, rows, id);
      return there.empty() ? rows : there;
    }
    std::vector<NamedDim> rows;
    for (const NamedDim& dim : kernel.space) {
      if (!kernel.columns.empty() && !meet({dim}, kernel.columns)) rows.push_back(dim);
    }
    return rows;
  }

  /// What dimensions of `from` are in `to`, which is made of it: views and puts give them other names and divide them.
  std::vector<NamedDim> followed(NodeId from, const std::vector<NamedDim>& dims, NodeId to) const {
    std::map<NodeId, std::vector<NamedDim>> there = {{from, dims}};
    for (const NodeId id : topological(graph_, {to})) {
      if (id == from) continue;
      const Node& node = graph_[id];
      std::vector<NamedDim>& own = there[id];
      for (const NodeId arg : node.args) own = set_union(own, there[arg]);
      if (node.kind == NodeKind::View && meet({node.dim}, own)) {
        for (const auto& term : node.map.terms) own = set_union(own, {term.dim});
      }
      if (node.kind == NodeKind::Put) {
        for (const auto& term : node.map.terms) {
          if (meet({term.dim}, own)) own = set_union(own, {node.dim});
        }
      }
      own = intersection(own, node.dims);
    }
    return there[to];
  }

  /// What the first product with this operand sums over.
  std::vector<NamedDim> first_depth(NodeId operand) const {
    for (const HostKernel& kernel : hosting_.kernels) {
      if (std::find(kernel.operands.begin(), kernel.operands.end(), operand) == kernel.operands.end()) continue;
      return graph_[kernel.accumulator].over;
    }
    return {};
  }

  /// The first parameter that has the dimension.
  size_t declared(const NamedDim& dim) const {
    const auto has = [&](const Param& param) {
      return std::find(param.dims.begin(), param.dims.end(), dim) != param.dims.end();
    };
    return static_cast<size_t>(std::find_if(block_.params.begin(), block_.params.end(), has) - block_.params.begin());
  }

  const Graph& graph_;
  const Algebra& algebra_;
  const Program& block_;
  const Hosting& hosting_;
  const KeptOrder& kept_;
};

}  // namespace

std::vector<NamedDim> memory_order(const Algebra& algebra, const Program& block, const Hosting& hosting, NodeId value,
                                   const KeptOrder& kept) {
  return MemoryOrder(algebra, block, hosting, kept).of(value);
}

}  // namespace coda
