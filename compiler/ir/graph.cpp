// Constructors of the tensor IR: they check arguments, compute dimensions and number classes, put commutative arguments
// in a canonical order and intern. They fold only what keeps the f64 meaning bit for bit; laws live elsewhere.
#include "compiler/ir/graph.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <numeric>

#include "compiler/ir/meaning.h"

namespace coda {

namespace {

[[noreturn]] void broken(const char* constructor, const std::string& what) {
  std::fprintf(stderr, "coda: internal error: Graph::%s: %s\n", constructor, what.c_str());
  std::abort();
}

void sort_unique(std::vector<NamedDim>& dims, const char* constructor) {
  std::stable_sort(dims.begin(), dims.end());
  for (size_t i = 1; i < dims.size(); ++i) {
    if (dims[i - 1].name == dims[i].name && !(dims[i - 1].extent == dims[i].extent)) {
      broken(constructor, "dimension " + dims[i].name + " has extents " + dims[i - 1].extent.text() + " and " +
                              dims[i].extent.text());
    }
  }
  dims.erase(std::unique(dims.begin(), dims.end()), dims.end());
}

bool contains(const std::vector<NamedDim>& dims, const std::string& name) {
  return std::any_of(dims.begin(), dims.end(), [&](const NamedDim& d) { return d.name == name; });
}

void remove(std::vector<NamedDim>& dims, const std::string& name) {
  std::erase_if(dims, [&](const NamedDim& d) { return d.name == name; });
}

/// Sorts terms by dimension, adds strides of one dimension up and drops strides of zero.
AffineMap normalised(AffineMap map) {
  std::stable_sort(map.terms.begin(), map.terms.end(), [](const auto& a, const auto& b) { return a.dim < b.dim; });
  std::vector<AffineMap::Term> terms;
  for (auto& term : map.terms) {
    if (!terms.empty() && terms.back().dim == term.dim) {
      terms.back().stride = terms.back().stride + term.stride;
    } else {
      terms.push_back(std::move(term));
    }
  }
  map.terms = std::move(terms);
  return map;
}

bool is_identity(const NamedDim& dim, const AffineMap& map) {
  return map.offset.is_zero() && map.terms.size() == 1 && map.terms[0].dim == dim && map.terms[0].stride == Dim(1);
}

size_t hash_of(const Node& node) {
  size_t hash = static_cast<size_t>(node.kind);
  auto mix = [&](size_t value) { hash ^= value + 0x9e3779b97f4a7c15ull + (hash << 6) + (hash >> 2); };
  auto mix_text = [&](const std::string& text) { mix(std::hash<std::string>()(text)); };
  for (const NodeId arg : node.args) mix(static_cast<size_t>(arg));
  mix(static_cast<size_t>(node.param));
  mix(std::bit_cast<uint64_t>(node.value));
  mix(std::hash<const void*>()(node.op));
  mix(std::hash<const void*>()(node.reduction));
  for (const double c : node.coefficients) mix(std::bit_cast<uint64_t>(c));
  for (const auto& d : node.over) mix_text(d.name);
  mix_text(node.dim.name);
  mix_text(node.map.offset.text());
  for (const auto& term : node.map.terms) mix_text(term.dim.name), mix_text(term.stride.text());
  mix(static_cast<size_t>(node.dtype) * 4 + static_cast<size_t>(node.num_class));
  return hash;
}

bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](double x, double y) { return std::bit_cast<uint64_t>(x) == std::bit_cast<uint64_t>(y); });
}

bool same(const Node& a, const Node& b) {
  return a.kind == b.kind && a.args == b.args && a.dims == b.dims && a.num_class == b.num_class && a.param == b.param &&
         same_bits({a.value}, {b.value}) && a.op == b.op && a.reduction == b.reduction &&
         same_bits(a.coefficients, b.coefficients) && a.over == b.over && a.dim == b.dim && a.map == b.map &&
         a.dtype == b.dtype;
}

}  // namespace

bool Node::has_dim(const std::string& name) const { return contains(dims, name); }

NodeId Graph::intern(Node node) {
  const size_t hash = hash_of(node);
  const auto [begin, end] = by_hash_.equal_range(hash);
  for (auto it = begin; it != end; ++it) {
    if (same(nodes_[it->second], node)) return it->second;
  }
  nodes_.push_back(std::move(node));
  by_hash_.emplace(hash, size() - 1);
  return size() - 1;
}

NodeId Graph::input(int param, std::vector<NamedDim> dims, NumClass num_class, Span span) {
  const size_t declared = dims.size();
  sort_unique(dims, "input");
  if (dims.size() != declared) broken("input", "a dimension is named twice");
  return intern(
      {.kind = NodeKind::Input, .dims = std::move(dims), .num_class = num_class, .param = param, .span = span});
}

NodeId Graph::constant(double value, NumClass num_class) {
  return intern({.kind = NodeKind::Constant, .num_class = num_class, .value = value});
}

NodeId Graph::index(NamedDim dim) {
  return intern({.kind = NodeKind::Index, .dims = {dim}, .num_class = NumClass::Int, .dim = dim});
}

NodeId Graph::extent(Dim value) {
  if (const auto known = value.constant()) return constant(static_cast<double>(*known), NumClass::Int);
  Node node{.kind = NodeKind::Extent, .num_class = NumClass::Int};
  node.map.offset = std::move(value);
  return intern(std::move(node));
}

NodeId Graph::contract(std::vector<NodeId> factors, std::vector<NamedDim> over, Span span) {
  Node node{.kind = NodeKind::Contract, .span = span};
  const NumClass num_class = arithmetic_class(*this, factors);
  for (const NodeId factor : factors) {
    const Node& f = nodes_[factor];
    // A product inside a product of the same class is the same product.
    if (f.kind == NodeKind::Contract && f.over.empty() && f.num_class == num_class) {
      node.args.insert(node.args.end(), f.args.begin(), f.args.end());
    } else {
      node.args.push_back(factor);
    }
  }
  // 1·x is x, bit for bit; but a Real 1 makes an Int or a Bool Real.
  for (size_t i = 0; i < node.args.size() && node.args.size() > 1;) {
    const Node& f = nodes_[node.args[i]];
    std::vector<NodeId> rest = node.args;
    rest.erase(rest.begin() + static_cast<ptrdiff_t>(i));
    const bool redundant = f.kind == NodeKind::Constant && f.value == 1 && arithmetic_class(*this, rest) == num_class;
    if (redundant) node.args = std::move(rest);
    if (!redundant) ++i;
  }
  std::sort(node.args.begin(), node.args.end());
  for (const NodeId factor : node.args) {
    node.dims.insert(node.dims.end(), nodes_[factor].dims.begin(), nodes_[factor].dims.end());
  }
  sort_unique(node.dims, "contract");
  sort_unique(over, "contract");
  for (const auto& d : over) {
    if (!contains(node.dims, d.name)) broken("contract", "no factor has the summed dimension " + d.name);
    remove(node.dims, d.name);
  }
  node.over = std::move(over);
  node.num_class = num_class;
  if (node.over.empty()) {
    if (node.args.empty()) return constant(1);
    if (node.args.size() == 1 && nodes_[node.args[0]].num_class == num_class) return node.args[0];
  }
  return intern(std::move(node));
}

NodeId Graph::sum(std::vector<NodeId> terms, std::vector<double> coefficients, Span span) {
  if (terms.size() != coefficients.size()) broken("sum", "as many coefficients as terms are needed");
  Node node{.kind = NodeKind::Sum, .span = span};
  std::vector<size_t> order(terms.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return terms[a] < terms[b]; });
  bool all_constant = true, integral = true;
  for (const size_t i : order) {
    const Node& term = nodes_[terms[i]];
    node.args.push_back(terms[i]);
    node.coefficients.push_back(coefficients[i]);
    node.dims.insert(node.dims.end(), term.dims.begin(), term.dims.end());
    all_constant = all_constant && term.kind == NodeKind::Constant;
    integral = integral && coefficients[i] == std::nearbyint(coefficients[i]);
  }
  sort_unique(node.dims, "sum");
  node.num_class = integral ? arithmetic_class(*this, node.args) : NumClass::Real;
  if (node.args.size() == 1 && node.coefficients[0] == 1 && nodes_[node.args[0]].num_class == node.num_class) {
    return node.args[0];
  }
  if (all_constant) {
    std::vector<double> values;
    for (const NodeId arg : node.args) values.push_back(nodes_[arg].value);
    return constant(linear_combination(values, node.coefficients), node.num_class);
  }
  return intern(std::move(node));
}

NodeId Graph::broadcast(NodeId x, const std::vector<NamedDim>& dims, Span span) {
  for (const NamedDim& dim : dims) {
    if (!nodes_[x].has_dim(dim.name)) x = sum({x, index(dim)}, {1, 0}, span);
  }
  return x;
}

NodeId Graph::apply(const Op* op, std::vector<NodeId> args, Span span) {
  if (op == nullptr) broken("apply", "no op");
  if (static_cast<int>(args.size()) != op->arity)
    broken("apply", "wrong number of arguments of " + std::string(op->name));
  Node node{.kind = NodeKind::Apply, .args = std::move(args), .op = op, .span = span};
  if (const char* wrong = class_error(*this, *op, node.args)) broken("apply", std::string(op->name) + ": " + wrong);
  node.num_class = result_class(*this, *op, node.args);
  std::vector<double> values;
  for (const NodeId arg : node.args) {
    node.dims.insert(node.dims.end(), nodes_[arg].dims.begin(), nodes_[arg].dims.end());
    if (nodes_[arg].kind == NodeKind::Constant) values.push_back(nodes_[arg].value);
  }
  sort_unique(node.dims, "apply");
  if (values.size() == node.args.size() && !op->packs)
    return constant(apply_op(*op, values, node.num_class), node.num_class);
  // A selection that is made already.
  const bool is_decided = op->rule == ClassRule::Select && nodes_[node.args[0]].kind == NodeKind::Constant;
  if (is_decided) {
    const NodeId chosen = node.args[nodes_[node.args[0]].value != 0 ? 1 : 2];
    if (nodes_[chosen].num_class == node.num_class && nodes_[chosen].dims == node.dims) return chosen;
  }
  return intern(std::move(node));
}

NodeId Graph::view(NodeId x, NamedDim dim, AffineMap map, Span span) {
  if (!nodes_[x].has_dim(dim.name)) broken("view", "the argument has no dimension " + dim.name);
  map = normalised(std::move(map));
  if (is_identity(dim, map)) return x;
  Node node{
      .kind = NodeKind::View, .args = {x}, .dims = nodes_[x].dims, .num_class = nodes_[x].num_class, .span = span};
  remove(node.dims, dim.name);
  for (const auto& term : map.terms) node.dims.push_back(term.dim);
  sort_unique(node.dims, "view");
  node.dim = std::move(dim);
  node.map = std::move(map);
  return intern(std::move(node));
}

NodeId Graph::put(NodeId x, NamedDim dim, AffineMap map, Span span) {
  map = normalised(std::move(map));
  if (is_identity(dim, map) && nodes_[x].has_dim(dim.name)) return x;
  Node node{.kind = NodeKind::Put, .args = {x}, .dims = nodes_[x].dims, .num_class = nodes_[x].num_class, .span = span};
  for (const auto& term : map.terms) {
    if (!nodes_[x].has_dim(term.dim.name)) broken("put", "the argument has no dimension " + term.dim.name);
    remove(node.dims, term.dim.name);
  }
  if (contains(node.dims, dim.name)) broken("put", "the argument keeps a dimension " + dim.name);
  node.dims.push_back(dim);
  sort_unique(node.dims, "put");
  node.dim = std::move(dim);
  node.map = std::move(map);
  return intern(std::move(node));
}

NodeId Graph::reduce(const Reduction* reduction, NodeId x, std::vector<NamedDim> over, Span span) {
  if (reduction == nullptr) broken("reduce", "no reduction");
  Node node{
      .kind = NodeKind::Reduce, .args = {x}, .dims = nodes_[x].dims, .num_class = reduction->result, .span = span};
  sort_unique(over, "reduce");
  for (const auto& d : over) {
    if (!nodes_[x].has_dim(d.name)) broken("reduce", "the argument has no dimension " + d.name);
    remove(node.dims, d.name);
  }
  node.reduction = reduction;
  node.over = std::move(over);
  return intern(std::move(node));
}

NodeId Graph::gather(NodeId x, NamedDim dim, NodeId index, Span span) {
  if (!nodes_[x].has_dim(dim.name)) broken("gather", "the argument has no dimension " + dim.name);
  if (nodes_[index].num_class != NumClass::Int) broken("gather", "the index is not of class Int");
  Node node{.kind = NodeKind::Gather,
            .args = {x, index},
            .dims = nodes_[x].dims,
            .num_class = nodes_[x].num_class,
            .span = span};
  remove(node.dims, dim.name);
  node.dims.insert(node.dims.end(), nodes_[index].dims.begin(), nodes_[index].dims.end());
  sort_unique(node.dims, "gather");
  node.dim = std::move(dim);
  return intern(std::move(node));
}

NodeId Graph::cast(NodeId x, DType dtype, Span span) {
  Node node{.kind = NodeKind::Cast, .args = {x}, .dims = nodes_[x].dims, .num_class = info(dtype).num_class};
  node.dtype = dtype;
  node.span = span;
  return intern(std::move(node));
}

}  // namespace coda
