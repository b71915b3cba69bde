#include "compiler/epilogue/product_sums.h"

#include <algorithm>

#include "compiler/epilogue/describe.h"

namespace coda {

namespace {

/// A sum that falls into more is left as it is.
constexpr size_t kMostTerms = 64;

/// Takes one `value` out of `list`; false if there is none.
bool take(std::vector<NodeId>& list, NodeId value) {
  const auto it = std::find(list.begin(), list.end(), value);
  if (it == list.end()) return false;
  list.erase(it);
  return true;
}

/// What is in `a` and not in `b`; nothing if `b` has something else as well.
std::optional<std::vector<NodeId>> difference(std::vector<NodeId> a, const std::vector<NodeId>& b) {
  for (const NodeId value : b) {
    if (!take(a, value)) return std::nullopt;
  }
  return a;
}

}  // namespace

int ProductSums::simple_gemm(NodeId node) const {
  for (size_t i = 0; i < gemms_.size(); ++i) {
    if (gemms_[i].node == node && node != kNoNode && gemms_[i].earlier.empty()) return static_cast<int>(i);
  }
  return -1;
}

bool ProductSums::uses_gemm(NodeId node) {
  if (const auto known = uses_gemm_.find(node); known != uses_gemm_.end()) return known->second;
  bool uses = simple_gemm(node) >= 0;
  for (const NodeId arg : graph_[node].args) uses = uses || uses_gemm(arg);
  return uses_gemm_[node] = uses;
}

bool ProductSums::is_number(NodeId id) const {
  const Node& node = graph_[id];
  if (!node.dims.empty() || node.num_class != NumClass::Real) return false;
  switch (node.kind) {
    case NodeKind::Constant:
    case NodeKind::Input:
      return true;
    case NodeKind::Contract:
    case NodeKind::Sum:
    case NodeKind::Apply:
      return node.over.empty() &&
             std::all_of(node.args.begin(), node.args.end(), [&](NodeId a) { return is_number(a); });
    default:
      return false;
  }
}

int ProductSums::renamed_gemm(NodeId view) {
  Substitution names;
  NodeId node = view;
  while (graph_[node].kind == NodeKind::View) {
    const Node& v = graph_[node];
    const auto to = as_dimension(v.map);
    if (!to || !(to->extent == v.dim.extent) || names.contains(v.dim.name)) return -1;
    names[v.dim.name] = v.map;
    node = v.args[0];
  }
  const int found = simple_gemm(node);
  if (found < 0) return -1;
  GemmCandidate renamed = gemms_[static_cast<size_t>(found)];
  for (NodeId& operand : renamed.operands) operand = reindexer_.view_leaf(operand, names);
  renamed.node = graph_.contract({renamed.operands[0], renamed.operands[1]}, {renamed.depth}, graph_[view].span);
  if (graph_[renamed.node].dims != graph_[view].dims) return -1;
  if (const int known = simple_gemm(renamed.node); known >= 0) return known;
  const NodeId leaf = renamed.node;
  reindexer_.set_leaf(leaf, [this, leaf](const Substitution& at) { return reindexer_.view_leaf(leaf, at); });
  gemms_.push_back(std::move(renamed));
  return static_cast<int>(gemms_.size()) - 1;
}

/// Sums and products are taken apart as far as a product of parameters is in only one factor.
void ProductSums::flatten(NodeId id, double coefficient, std::vector<NodeId> factors) {
  if (terms_.size() > kMostTerms) return;
  const Node node = graph_[id];
  int gemm = simple_gemm(id);
  if (gemm < 0 && node.kind == NodeKind::View) gemm = renamed_gemm(id);
  const auto count = std::count_if(node.args.begin(), node.args.end(), [&](NodeId arg) { return uses_gemm(arg); });
  if (gemm < 0 && count > 0 && node.kind == NodeKind::Sum) {
    for (size_t i = 0; i < node.args.size(); ++i) flatten(node.args[i], coefficient * node.coefficients[i], factors);
    return;
  }
  if (gemm < 0 && count == 1 && node.kind == NodeKind::Contract && node.over.empty()) {
    NodeId inner = kNoNode;
    for (const NodeId arg : node.args) {
      if (uses_gemm(arg)) {
        inner = arg;
      } else if (graph_[arg].kind == NodeKind::Constant) {
        coefficient *= graph_[arg].value;
      } else {
        factors.push_back(arg);
      }
    }
    return flatten(inner, coefficient, std::move(factors));
  }
  const Op* div = find_op("div");
  if (gemm < 0 && node.kind == NodeKind::Apply && node.op == div && !uses_gemm(node.args[1])) {
    const Node& divisor = graph_[node.args[1]];
    if (divisor.kind == NodeKind::Constant && divisor.value != 0) {
      coefficient /= divisor.value;
    } else {
      factors.push_back(graph_.apply(div, {graph_.constant(1), node.args[1]}, node.span));
    }
    return flatten(node.args[0], coefficient, std::move(factors));
  }
  terms_.push_back({coefficient, std::move(factors), gemm < 0 ? id : gemms_[static_cast<size_t>(gemm)].node, gemm});
}

std::vector<NodeId> ProductSums::take_common(std::vector<Term>& products) const {
  std::vector<NodeId> common;
  for (const NodeId factor : std::vector<NodeId>(products[0].factors)) {
    const bool everywhere = std::all_of(products.begin(), products.end(), [&](const Term& t) {
      return std::find(t.factors.begin(), t.factors.end(), factor) != t.factors.end();
    });
    if (!everywhere) continue;
    for (Term& term : products) take(term.factors, factor);
    common.push_back(factor);
  }
  return common;
}

void ProductSums::note(NodeId first, NodeId second, std::string reason, std::string way_out, Span span) {
  if (!obstacle_) obstacle_ = {first, second, std::move(reason), std::move(way_out), span};
}

/// Brings the products into an order in which each one's factors are among those of the one before it.
bool ProductSums::ordered(std::vector<Term>& products, Span span) {
  const auto text = [&](NodeId node) { return describe(program_, graph_, node); };
  for (const Term& term : products) {
    const NodeId other = products[&term == &products[0] ? 1 : 0].node;
    if (graph_[term.node].dims != graph_[products[0].node].dims) {
      note(products[0].node, term.node, "they have other dimensions",
           "store one of them by another kernel, or write a `block`", span);
      return false;
    }
    for (const NodeId factor : term.factors) {
      if (is_number(factor)) continue;
      note(term.node, other, "`" + text(factor) + "` multiplies the first one alone, and is not one number",
           "only a scalar may multiply one of them: multiply an operand by it in the kernel that makes the operand, "
           "store one product by another kernel, or write a `block`",
           span);
      return false;
    }
    if (term.coefficient == 0) return false;
  }
  // In one order wherever the program has this sum or a multiple of it.
  std::sort(products.begin(), products.end(), [](const Term& a, const Term& b) {
    return a.factors.size() != b.factors.size() ? a.factors.size() > b.factors.size() : a.node < b.node;
  });
  for (size_t i = 0; i + 1 < products.size(); ++i) {
    if (difference(products[i].factors, products[i + 1].factors)) continue;
    const auto all = [&](const Term& term) { return text(graph_.contract(term.factors, {})); };
    const std::string a = all(products[i]), b = all(products[i + 1]);
    note(products[i].node, products[i + 1].node,
         "each is multiplied by a scalar of its own, `" + a + "` and `" + b + "`",
         "give their quotient as a parameter `q`, and write `" + b + " * (q * (first) + second)`", span);
    return false;
  }
  return true;
}

/// ((first * scale + second) * scale + …), whose last coefficient is left out.
NodeId ProductSums::chain(const std::vector<Term>& products, Span span) {
  GemmCandidate whole = gemms_[static_cast<size_t>(products.back().gemm)];
  NodeId value = kNoNode;
  for (size_t i = 0; i < products.size(); ++i) {
    const Term& term = products[i];
    const GemmCandidate& gemm = gemms_[static_cast<size_t>(term.gemm)];
    value = value == kNoNode ? gemm.node : graph_.sum({value, gemm.node}, {1, 1}, span);
    if (i + 1 == products.size()) break;
    std::vector<NodeId> factors = *difference(term.factors, products[i + 1].factors);
    const double ratio = term.coefficient / products[i + 1].coefficient;
    if (ratio != 1) factors.push_back(graph_.constant(ratio));
    const NodeId scale = factors.empty() ? kNoNode : graph_.contract(factors, {}, span);
    if (scale != kNoNode) value = graph_.contract({value, scale}, {}, span);
    whole.earlier.push_back({{gemm.operands[0], gemm.operands[1]}, gemm.depth, scale});
  }
  whole.node = value;
  const bool known = std::any_of(gemms_.begin(), gemms_.end(), [&](const auto& g) { return g.node == value; });
  if (!known) {
    gemms_.push_back(std::move(whole));
    reindexer_.set_leaf(value, [this, value](const Substitution& at) { return reindexer_.view_leaf(value, at); });
  }
  return value;
}

std::optional<NodeId> ProductSums::join(NodeId sum) {
  const Span span = graph_[sum].span;
  terms_.clear();
  uses_gemm_.clear();
  flatten(sum, 1, {});
  if (terms_.size() > kMostTerms) return std::nullopt;
  std::vector<Term> products, rest;
  for (Term& term : terms_) (term.gemm >= 0 ? products : rest).push_back(std::move(term));
  // One product under two factors is no second one.
  for (size_t i = 0; i < products.size(); ++i) {
    for (size_t j = i + 1; j < products.size(); ++j) {
      if (products[i].node == products[j].node) return std::nullopt;
    }
  }
  if (products.size() < 2) return std::nullopt;
  std::vector<NodeId> common = take_common(products);
  if (!ordered(products, span)) return std::nullopt;

  common.push_back(chain(products, span));
  std::vector<NodeId> nodes{graph_.contract(common, {}, span)};
  std::vector<double> coefficients{products.back().coefficient};
  for (Term& term : rest) {
    term.factors.push_back(term.node);
    nodes.push_back(graph_.contract(term.factors, {}, span));
    coefficients.push_back(term.coefficient);
  }
  return graph_.sum(std::move(nodes), std::move(coefficients), span);
}

}  // namespace coda
