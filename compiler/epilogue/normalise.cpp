#include "compiler/epilogue/normalise.h"

#include <algorithm>

#include "compiler/epilogue/describe.h"
#include "compiler/epilogue/product_sums.h"
#include "compiler/ir/of_nothing.h"
#include "dsl/diagnostics.h"

namespace coda {

namespace {

bool shares(const std::vector<NamedDim>& a, const std::vector<NamedDim>& b) {
  return std::any_of(a.begin(), a.end(),
                     [&](const NamedDim& d) { return std::find(b.begin(), b.end(), d) != b.end(); });
}

/// Dimensions of `dims` that are not in `without`.
std::vector<NamedDim> minus(const std::vector<NamedDim>& dims, const std::vector<NamedDim>& without) {
  std::vector<NamedDim> rest;
  for (const auto& d : dims) {
    if (std::find(without.begin(), without.end(), d) == without.end()) rest.push_back(d);
  }
  return rest;
}

}  // namespace

Normaliser::Normaliser(const Program& program, Graph& graph, Reindexer& reindexer, Diagnostics& diagnostics)
    : program_(program),
      source_(program.graph),
      graph_(graph),
      reindexer_(reindexer),
      diagnostics_(diagnostics),
      sums_(std::make_unique<ProductSums>(program, graph, reindexer, gemms_)) {}
Normaliser::~Normaliser() = default;

const std::optional<ProductSumObstacle>& Normaliser::obstacle() const { return sums_->obstacle(); }

AffineMap Normaliser::bound(const AffineMap& map) const {
  AffineMap result{.offset = map.offset.substitute(program_.bound), .terms = {}};
  for (const auto& term : map.terms) result.terms.push_back({bound(term.dim), term.stride.substitute(program_.bound)});
  return result;
}

void Normaliser::log(const char* law, std::string detail, Span span) {
  const bool known = std::any_of(laws_.begin(), laws_.end(),
                                 [&](const LawUse& use) { return use.law == law && use.detail == detail; });
  if (!known) laws_.push_back({law, std::move(detail), span});
}

bool Normaliser::uses_gemm(NodeId id) {
  if (const auto it = uses_gemm_.find(id); it != uses_gemm_.end()) return it->second;
  bool uses = std::any_of(gemms_.begin(), gemms_.end(), [&](const GemmCandidate& gemm) { return gemm.node == id; });
  for (const NodeId arg : graph_[id].args) uses = uses || uses_gemm(arg);
  return uses_gemm_[id] = uses;
}

NodeId Normaliser::run(NodeId source) {
  if (const auto it = done_.find(source); it != done_.end()) return it->second;
  const NodeId result = convert(source_[source]);
  done_[source] = result;
  return result;
}

NodeId Normaliser::convert(const Node& node) {
  std::vector<NodeId> args;
  for (const NodeId arg : node.args) args.push_back(run(arg));
  std::vector<NamedDim> over;
  for (const auto& dim : node.over) over.push_back(bound(dim));
  switch (node.kind) {
    case NodeKind::Input: {
      std::vector<NamedDim> dims;
      for (const auto& dim : node.dims) dims.push_back(bound(dim));
      return graph_.input(node.param, std::move(dims), node.num_class, node.span);
    }
    case NodeKind::Constant:
      return graph_.constant(node.value, node.num_class);
    case NodeKind::Index:
      return graph_.index(bound(node.dim));
    case NodeKind::Extent:
      return graph_.extent(node.map.offset.substitute(program_.bound));
    case NodeKind::Contract:
      return contract(std::move(args), std::move(over), node.span);
    case NodeKind::Sum:
      return sum(node, std::move(args));
    case NodeKind::Apply:
      return graph_.apply(node.op, std::move(args), node.span);
    case NodeKind::View:
      return graph_.view(args[0], bound(node.dim), bound(node.map), node.span);
    case NodeKind::Put:
      return graph_.put(args[0], bound(node.dim), bound(node.map), node.span);
    case NodeKind::Reduce:
      return graph_.reduce(node.reduction, args[0], std::move(over), node.span);
    case NodeKind::Gather:
      return gather(node, args[0], args[1]);
    case NodeKind::Cast:
      return graph_.cast(args[0], node.dtype, node.span);
  }
  return kNoNode;
}

NodeId Normaliser::gather(const Node& node, NodeId argument, NodeId index) {
  const NamedDim dim = bound(node.dim);
  if (!uses_gemm(argument) || graph_[index].has_dim(dim.name)) return graph_.gather(argument, dim, index, node.span);
  log("gather as a sum",
      "gather(z, " + dim.name + " = t) = sum over " + dim.name + " of select(index(" + dim.name +
          ") == t, z, 0), with z = " + describe(program_, graph_, argument),
      node.span);
  const NodeId hit = graph_.apply(find_op("eq"), {graph_.index(dim), index}, node.span);
  const NodeId zero = graph_.constant(0, graph_[argument].num_class);
  const NodeId chosen = graph_.apply(find_op("select"), {hit, argument, zero}, node.span);
  return graph_.contract({chosen}, {dim}, node.span);
}

NodeId Normaliser::sum(const Node& node, std::vector<NodeId> args) {
  const NodeId plain = graph_.sum(std::move(args), node.coefficients, node.span);
  if (gemms_.size() < 2 || graph_[plain].kind != NodeKind::Sum) return plain;
  const auto joined = sums_->join(plain);
  if (!joined) return plain;
  uses_gemm_.clear();
  log("sum in the accumulator",
      describe(program_, graph_, plain) + ": the products share the accumulator, one after the other", node.span);
  return *joined;
}

NodeId Normaliser::contract(std::vector<NodeId> args, std::vector<NamedDim> over, Span span) {
  if (over.empty()) return graph_.contract(std::move(args), {}, span);
  const bool of_tile = std::any_of(args.begin(), args.end(), [&](NodeId arg) { return uses_gemm(arg); });
  if (of_tile) {
    // Sums of sums are one sum: the outer one is finished with the inner one's elements.
    for (size_t i = 0; i < args.size(); ++i) {
      const Node inner = graph_[args[i]];
      const bool is_gemm = std::any_of(gemms_.begin(), gemms_.end(), [&](const auto& g) { return g.node == args[i]; });
      if (inner.kind != NodeKind::Contract || inner.over.empty() || is_gemm || !uses_gemm(args[i])) continue;
      std::vector<NodeId> others = args;
      others.erase(others.begin() + static_cast<ptrdiff_t>(i));
      const bool captures = std::any_of(others.begin(), others.end(),
                                        [&](NodeId other) { return shares(graph_[other].dims, inner.over); });
      if (captures || shares(inner.over, over)) continue;
      others.insert(others.end(), inner.args.begin(), inner.args.end());
      over.insert(over.end(), inner.over.begin(), inner.over.end());
      return contract(std::move(others), std::move(over), span);
    }
    return graph_.contract(std::move(args), std::move(over), span);
  }
  std::vector<NodeId> inside, outside;
  for (const NodeId arg : args) take_apart(arg, over, inside, outside, span);
  return gemm(std::move(inside), over, std::move(outside), span);
}

/// 0 where one of the summed dimensions is empty, if that makes the factor infinite or no number: the sum is 0 then.
NodeId Normaliser::where_some(NodeId factor, const std::vector<NamedDim>& over) {
  OfNothing of_nothing(graph_);
  for (const NamedDim& dim : over) {
    if (!of_nothing.spoils(factor, dim.extent)) continue;
    const NodeId some = graph_.apply(find_op("gt"), {graph_.extent(dim.extent), graph_.constant(0, NumClass::Int)});
    factor = graph_.apply(find_op("select"), {some, factor, graph_.constant(0)});
  }
  return factor;
}

void Normaliser::take_apart(NodeId factor, const std::vector<NamedDim>& over, std::vector<NodeId>& inside,
                            std::vector<NodeId>& outside, Span span) {
  factor = reindexer_.at(factor, {});  // index maps go down to the parameters
  const Node node = graph_[factor];
  if (!shares(node.dims, over)) {
    log("factor out",
        describe(program_, graph_, factor) + " lacks the summed dimension " + over[0].name +
            " and multiplies the result instead",
        span);
    return outside.push_back(where_some(factor, over));
  }
  const Op* div = find_op("div");
  if (node.kind == NodeKind::Contract && node.over.empty()) {
    for (const NodeId arg : node.args) take_apart(arg, over, inside, outside, span);
  } else if (node.kind == NodeKind::Sum && node.args.size() == 1) {
    outside.push_back(graph_.constant(node.coefficients[0]));
    take_apart(node.args[0], over, inside, outside, span);
  } else if (node.kind == NodeKind::Apply && node.op == div && !shares(graph_[node.args[1]].dims, over)) {
    log("quotient as product", "a / b = a * (1 / b) with b = " + describe(program_, graph_, node.args[1]), span);
    take_apart(node.args[0], over, inside, outside, span);
    outside.push_back(where_some(graph_.apply(div, {graph_.constant(1), node.args[1]}, node.span), over));
  } else if (node.kind == NodeKind::Cast && graph_[node.args[0]].kind == NodeKind::Input &&
             program_.params[static_cast<size_t>(graph_[node.args[0]].param)].dtype == node.dtype) {
    inside.push_back(node.args[0]);  // rounding a parameter to its own type changes nothing
  } else {
    inside.push_back(factor);
  }
}

/// Several summed dimensions as one: the operands then have it in the place of all of them. No name if an operand lacks
/// one.
NamedDim Normaliser::join_depth(const std::vector<NamedDim>& over, NodeId (&operands)[2]) {
  if (over.size() == 1) return over[0];
  for (const NodeId operand : operands) {
    if (!minus(over, graph_[operand].dims).empty()) return {};
  }
  // In the first operand's order in memory, as far as its own names say.
  NodeId leaf = operands[0];
  while (!graph_[leaf].args.empty()) leaf = graph_[leaf].args[0];
  std::vector<NamedDim> order;
  for (const NamedDim& dim : program_.params[static_cast<size_t>(graph_[leaf].param)].dims) {
    if (std::find(over.begin(), over.end(), dim) != over.end()) order.push_back(bound(dim));
  }
  if (order.size() != over.size()) order = over;
  std::string name;
  for (const NamedDim& dim : order) name += (name.empty() ? "" : "*") + dim.name;
  const auto known = joined_depths_.find(name);
  // A name of its own: an output may have a dimension that is called so.
  const NamedDim depth = known != joined_depths_.end() ? known->second : reindexer_.fresh({name, product(order)});
  joined_depths_.emplace(name, depth);
  for (NodeId& operand : operands) operand = graph_.put(operand, depth, mixed_radix(order), graph_[operand].span);
  return depth;
}

/// Or a parameter under other names.
bool Normaliser::is_parameter(NodeId id) const {
  while (graph_[id].kind == NodeKind::View) id = graph_[id].args[0];
  return graph_[id].kind == NodeKind::Input;
}

/// `factors` all have a summed dimension. Two of them with dimensions of their own are a GEMM; anything else stays a
/// reduction of what does not use the tile, which is refused where it is used.
NodeId Normaliser::gemm(std::vector<NodeId> factors, const std::vector<NamedDim>& over, std::vector<NodeId> outside,
                        Span span) {
  auto plain = [&] {
    outside.push_back(graph_.contract(factors, over, span));
    return graph_.contract(outside, {}, span);
  };
  auto own = [&](NodeId factor) { return minus(graph_[factor].dims, over); };
  // Factors that share a dimension of their own form one operand.
  std::vector<std::vector<NodeId>> groups;
  std::vector<NodeId> depth_only;
  for (const NodeId factor : factors) {
    if (own(factor).empty()) {
      depth_only.push_back(factor);
      continue;
    }
    std::vector<NodeId> merged{factor};
    for (auto it = groups.begin(); it != groups.end();) {
      const bool joined = std::any_of(it->begin(), it->end(), [&](NodeId f) { return shares(own(f), own(factor)); });
      if (joined) merged.insert(merged.end(), it->begin(), it->end());
      it = joined ? groups.erase(it) : it + 1;
    }
    groups.push_back(std::move(merged));
  }
  auto text = [&](NodeId node) { return describe(program_, graph_, node); };

  // Two that share dimensions of their own, and each have another one, are a product for each of the shared ones.
  std::vector<NamedDim> batch;
  if (groups.size() == 1 && groups[0].size() == 2 && !minus(own(groups[0][0]), own(groups[0][1])).empty() &&
      !minus(own(groups[0][1]), own(groups[0][0])).empty()) {
    batch = minus(own(groups[0][0]), minus(own(groups[0][0]), own(groups[0][1])));
    groups = {{groups[0][0]}, {groups[0][1]}};
  }
  if (groups.size() < 2) return plain();
  if (groups.size() > 2) {
    std::vector<std::string> names;
    for (const auto& group : groups) names.push_back(text(graph_.contract(group, {})));
    diagnostics_.report(DiagId::E0309, own_span(program_, span, where_), {name_list(names), over[0].name});
    return plain();
  }
  bool computed = false;
  for (auto& group : groups) {
    std::vector<NodeId> parts = group;
    if (&group == &groups.front()) parts.insert(parts.end(), depth_only.begin(), depth_only.end());
    const NodeId operand = graph_.contract(parts, {});
    const Node* leaf = &graph_[operand];
    if (leaf->kind == NodeKind::Gather && !shares({leaf->dim}, over) && is_parameter(leaf->args[1])) {
      leaf = &graph_[leaf->args[0]];
    }
    while (leaf->kind == NodeKind::View || leaf->kind == NodeKind::Put) leaf = &graph_[leaf->args[0]];
    if (leaf->kind == NodeKind::Input) continue;
    computed = true;
    const Span where = own_span(program_, graph_[operand].span, own_span(program_, span, where_));
    diagnostics_.report(DiagId::E0303, where, {text(operand), over[0].name});
  }
  if (computed) {  // a marker keeps "no GEMM" from being reported as well
    gemms_.push_back({});
    return plain();
  }
  // Index maps of the operands' own dimensions move out, so that pieces of one parameter share one GEMM.
  NodeId operands[2];
  Substitution outer;
  for (int side = 0; side < 2; ++side) {
    NodeId operand = groups[static_cast<size_t>(side)][0];
    while (graph_[operand].kind == NodeKind::View) {
      const Node view = graph_[operand];
      const bool of_depth =
          shares({view.dim}, over) || std::any_of(view.map.terms.begin(), view.map.terms.end(),
                                                  [&](const auto& t) { return shares({t.dim}, over); });
      const bool repeats =
          graph_[groups[static_cast<size_t>(1 - side)][0]].has_dim(view.dim.name) || outer.contains(view.dim.name);
      const bool of_batch = std::any_of(view.map.terms.begin(), view.map.terms.end(),
                                        [&](const auto& t) { return shares({t.dim}, batch); });
      if (of_depth || repeats || of_batch) break;
      outer[view.dim.name] = view.map;
      operand = view.args[0];
      if (!as_dimension(view.map)) {
        log("index map through the GEMM", "a piece of " + text(operand) + " gives the same piece of the product", span);
      }
    }
    operands[side] = operand;
  }
  const NamedDim depth = join_depth(over, operands);
  if (depth.name.empty()) {
    std::vector<std::string> names;
    for (const auto& dim : over) names.push_back(dim.name);
    diagnostics_.report(DiagId::E0307, own_span(program_, span, where_), {name_list(names)});
    gemms_.push_back({});
    return plain();
  }
  const NodeId product = graph_.contract({operands[0], operands[1]}, {depth}, span);
  const bool known = std::any_of(gemms_.begin(), gemms_.end(), [&](const auto& g) { return g.node == product; });
  if (!known) {
    gemms_.push_back({product, {operands[0], operands[1]}, depth, batch, {}});
    // Index maps stop here: pushed into the operands they would make other GEMMs of it.
    reindexer_.set_leaf(product, [this, product](const Substitution& at) { return reindexer_.view_leaf(product, at); });
  }
  uses_gemm_.clear();
  outside.push_back(reindexer_.view_leaf(product, outer));
  return graph_.contract(std::move(outside), {}, span);
}

}  // namespace coda
