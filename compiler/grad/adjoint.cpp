#include "compiler/grad/adjoint.h"

#include <algorithm>
#include <optional>

#include "compiler/grad/operands.h"
#include "compiler/grad/records.h"
#include "compiler/rewrite/algebra.h"

namespace coda {

namespace {

class Reverse {
 public:
  Reverse(Program& program, const std::set<int>& wanted)
      : graph_(program.graph),
        make_(program.graph),
        params_(program.params),
        wanted_(wanted),
        names_(program.value_names) {}

  std::map<int, NodeId> run(const std::vector<Seed>& seeds) {
    std::vector<NodeId> roots;
    for (const Seed& seed : seeds) roots.push_back(seed.value);
    const std::vector<NodeId> order = topological(graph_, roots);
    for (const NodeId id : order) {
      if (depends(graph_[id])) active_.insert(id);
    }
    for (const Seed& seed : seeds) {
      if (active_.contains(seed.value)) pending_[seed.value].push_back({1, seed.gradient});
    }
    std::map<int, NodeId> result;
    for (auto it = order.rbegin(); it != order.rend(); ++it) {
      const auto terms = pending_.find(*it);
      if (terms == pending_.end()) continue;
      const NodeId gradient = make_.linear(terms->second);
      if (make_.is_zero(gradient)) continue;
      const Node node = graph_[*it];  // a copy: the arena grows
      if (const auto name = names_.find(*it); name != names_.end()) names_.emplace(gradient, "d_" + name->second);
      if (node.kind == NodeKind::Input) {
        result[node.param] = gradient;
      } else {
        pass_on(*it, node, gradient);
      }
    }
    return result;
  }

 private:
  bool depends(const Node& node) const {
    if (node.num_class != NumClass::Real) return false;
    if (node.kind == NodeKind::Input) return wanted_.contains(node.param);
    return std::any_of(node.args.begin(), node.args.end(), [&](NodeId arg) { return active_.contains(arg); });
  }

  /// Adds to the gradient of `arg` the sum of `factors` over those of `dims` that it lacks.
  void give(NodeId arg, std::vector<NodeId> factors, const std::vector<NamedDim>& dims, double coefficient = 1) {
    if (!active_.contains(arg)) return;
    pending_[arg].push_back({coefficient, make_.product(std::move(factors), difference(dims, graph_[arg].dims))});
  }

  void pass_on(NodeId id, const Node& node, NodeId g) {
    switch (node.kind) {
      case NodeKind::Contract:
        return contract(node, g);
      case NodeKind::Sum:
        for (size_t i = 0; i < node.args.size(); ++i) give(node.args[i], {g}, node.dims, node.coefficients[i]);
        return;
      case NodeKind::Apply:
        for (size_t i = 0; i < node.args.size(); ++i) {
          if (!active_.contains(node.args[i])) continue;
          const NodeId part = op_gradient(make_, *node.op, node.args, static_cast<int>(i), id, g);
          if (part != kNoNode) give(node.args[i], {part}, node.dims);
        }
        return;
      case NodeKind::View:
        return give(node.args[0], {make_.put(g, node.dim, node.map, node.span)}, graph_[node.args[0]].dims);
      case NodeKind::Put:
        return give(node.args[0], {make_.view(g, node.dim, node.map, node.span)}, graph_[node.args[0]].dims);
      case NodeKind::Reduce: {
        const NodeId part = reduction_gradient(make_, *node.reduction, node.args[0], node.over, id, g);
        if (part != kNoNode) give(node.args[0], {part}, graph_[node.args[0]].dims);
        return;
      }
      case NodeKind::Gather:
        return gather(node, g);
      case NodeKind::Cast:
        return give(node.args[0], {g}, node.dims);  // straight through
      case NodeKind::Input:
      case NodeKind::Constant:
      case NodeKind::Index:
      case NodeKind::Extent:
        return;
    }
  }

  /// Of the sum of a product each factor gets g times the others. Where the factors are two operands, an operand gets
  /// its gradient as one product first, and its factors share that.
  void contract(const Node& node, NodeId g) {
    const auto narrow = narrow_operand(node), own = type_of_parameter(g);
    if (narrow && own && own != narrow) g = graph_.cast(g, *narrow, node.span);
    const auto all = set_union(node.dims, node.over);
    auto without = [](std::vector<NodeId> factors, size_t i) {
      factors.erase(factors.begin() + static_cast<ptrdiff_t>(i));
      return factors;
    };
    const auto groups = operand_groups(graph_, node);
    if (!groups) {
      for (size_t i = 0; i < node.args.size(); ++i) {
        std::vector<NodeId> factors = without(node.args, i);
        factors.push_back(g);
        give(node.args[i], std::move(factors), all);
      }
      return;
    }
    for (size_t side = 0; side < 2; ++side) {
      const auto &own = (*groups)[side], &others = (*groups)[1 - side];
      if (std::none_of(own.begin(), own.end(), [&](NodeId factor) { return active_.contains(factor); })) continue;
      std::vector<NodeId> factors = others;
      factors.push_back(g);
      const auto dims = dims_of(graph_, own);
      const NodeId shared = make_.product(std::move(factors), difference(all, dims));
      for (size_t i = 0; i < own.size(); ++i) {
        std::vector<NodeId> rest = without(own, i);
        rest.push_back(shared);
        give(own[i], std::move(rest), dims);
      }
    }
  }

  /// The type of a parameter, also of one that is viewed or scaled.
  std::optional<DType> type_of_parameter(NodeId id) const {
    const Node* leaf = &graph_[id];
    while (leaf->kind == NodeKind::View || (leaf->kind == NodeKind::Sum && leaf->args.size() == 1)) {
      leaf = &graph_[leaf->args[0]];
    }
    if (leaf->kind != NodeKind::Input) return std::nullopt;
    return params_[static_cast<size_t>(leaf->param)].dtype;
  }
  /// The type of 16 bits that a matrix product has for an operand: the operands of its gradients have it too, also
  /// where the gradient comes in from outside in another type.
  std::optional<DType> narrow_operand(const Node& node) const {
    if (node.over.empty()) return std::nullopt;
    for (const NodeId arg : node.args) {
      const auto type = type_of_parameter(arg);
      if (type && info(*type).bits == 16 && graph_[arg].dims.size() > 1) return type;
    }
    return std::nullopt;
  }

  /// What was read at an index goes back there: g where the coordinate is the index, else 0; summed over the index's
  /// own dimensions, it is a product with a one-hot matrix.
  void gather(const Node& node, NodeId g) {
    const NodeId x = node.args[0], index = node.args[1];
    const NodeId hit = graph_.apply(find_op("eq"), {graph_.index(node.dim), index}, node.span);
    if (subset(graph_[index].dims, graph_[x].dims)) {
      return give(x, {graph_.apply(find_op("select"), {hit, g, graph_.constant(0)}, node.span)}, graph_[x].dims);
    }
    const NodeId one_hot = graph_.apply(find_op("to_real"), {hit}, node.span);
    give(x, {g, one_hot}, set_union(graph_[x].dims, graph_[index].dims));
  }

  Graph& graph_;
  Simplifier make_;
  const std::vector<Param>& params_;
  const std::set<int>& wanted_;
  std::map<NodeId, std::string>& names_;
  std::set<NodeId> active_;
  std::map<NodeId, std::vector<ScaledNode>> pending_;
};

}  // namespace

std::map<int, NodeId> parameter_gradients(Program& program, const std::vector<Seed>& seeds,
                                          const std::set<int>& wanted) {
  return Reverse(program, wanted).run(seeds);
}

}  // namespace coda
