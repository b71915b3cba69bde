#include "compiler/epilogue/reads.h"

#include <algorithm>

namespace coda {

namespace {

std::string key_of(NodeId id, const Substitution& env, const std::vector<NodeId>& reductions, bool below_put) {
  std::string key = std::to_string(id) + (below_put ? "p" : "");
  for (const NodeId reduction : reductions) key += "," + std::to_string(reduction);
  for (const auto& [name, map] : env) key += "|" + name + ":" + formula(map);
  return key;
}

Substitution restricted(const Substitution& env, const std::vector<NamedDim>& dims) {
  Substitution kept;
  for (const auto& dim : dims) {
    const auto it = env.find(dim.name);
    kept[dim.name] = it == env.end() ? affine(dim) : it->second;
  }
  return kept;
}

void add_once(std::vector<NodeId>& list, NodeId id) {
  if (std::find(list.begin(), list.end(), id) == list.end()) list.push_back(id);
}

}  // namespace

bool is_bound(const std::string& name) { return name.find('@') != std::string::npos; }
std::string original_name(const std::string& name) { return name.substr(0, name.find('@')); }
bool is_reduction(const Node& node) {
  return node.kind == NodeKind::Reduce || (node.kind == NodeKind::Contract && !node.over.empty());
}

bool UseCollector::uses_accumulator(NodeId id) {
  if (id == accumulator_) return true;
  if (const auto it = uses_accumulator_.find(id); it != uses_accumulator_.end()) return it->second;
  bool uses = false;
  for (const NodeId arg : graph_[id].args) uses = uses_accumulator(arg) || uses;
  return uses_accumulator_[id] = uses;
}

NamedDim UseCollector::bind(const NamedDim& dim, NodeId by) {
  return {dim.name + "@" + std::to_string(by), dim.extent};
}

Uses UseCollector::collect(NodeId value, const std::set<NodeId>& stops) {
  uses_ = {};
  visited_.clear();
  strided_.clear();
  stops_ = stops;
  walk(value, {.env = restricted({}, graph_[value].dims), .limits = {}, .reductions = {}, .below_put = false});
  // Inside a strided put `variable = stride * name + shift`: give the reads the variable back where strides allow.
  for (auto* reads : {&uses_.accumulator, &uses_.inputs}) {
    for (Read& read : *reads) {
      for (auto& [dim, map] : read.at) {
        AffineMap rewritten = affine_constant(map.offset);
        for (const auto& term : map.terms) {
          const auto it = strided_.find(term.dim.name);
          const auto stride = term.stride.constant();
          if (it == strided_.end() || !stride || *stride % it->second.stride != 0) {
            rewritten = add(rewritten, {.offset = Dim(), .terms = {term}});
            continue;
          }
          const Strided& s = it->second;
          const int64_t factor = *stride / s.stride;
          const auto extent = term.dim.extent.constant();
          rewritten = add(rewritten, {.offset = Dim(-factor * s.shift), .terms = {{s.variable, Dim(factor)}}});
          if (extent) read.limits[s.variable.name] = {s.shift, s.stride * (*extent - 1) + 1};
        }
        map = rewritten;
      }
    }
  }
  return std::move(uses_);
}

void UseCollector::walk(NodeId id, const Context& context) {
  if (stops_.contains(id)) return;
  const Node& node = graph_[id];
  Context inner = context;
  inner.env = restricted(context.env, node.dims);
  if (!visited_.insert(key_of(id, inner.env, context.reductions, context.below_put)).second) return;

  if (id == accumulator_ || node.kind == NodeKind::Input) {
    Read read{.leaf = id, .at = inner.env, .limits = context.limits, .reductions = context.reductions};
    (id == accumulator_ ? uses_.accumulator : uses_.inputs).push_back(std::move(read));
    return;
  }
  switch (node.kind) {
    case NodeKind::Index:
      for (const auto& term : inner.env[node.dim.name].terms) uses_.indexed.insert(original_name(term.dim.name));
      return;
    case NodeKind::View: {
      const AffineMap coordinate = substitute(node.map, inner.env);
      inner.env.erase(node.dim.name);
      inner.env = restricted(context.env, graph_[node.args[0]].dims);
      inner.env[node.dim.name] = coordinate;
      return walk(node.args[0], inner);
    }
    case NodeKind::Put:
      return walk_put(node, id, inner);
    case NodeKind::Gather: {
      walk(node.args[1], inner);
      if (uses_accumulator(node.args[0])) add_once(uses_.gathers, id);
      inner.env = restricted(context.env, graph_[node.args[0]].dims);
      inner.env[node.dim.name] = affine(bind(node.dim, id));
      return walk(node.args[0], inner);
    }
    default:
      break;
  }
  if (is_reduction(node)) {
    add_once(uses_accumulator(id) ? uses_.reductions : uses_.foreign, id);
    inner.reductions.push_back(id);
    for (const auto& dim : node.over) inner.env[dim.name] = affine(bind(dim, id));
  }
  if (node.kind == NodeKind::Sum) note_open_puts(node, inner);
  for (const NodeId arg : node.args) walk(arg, inner);
}

/// Puts of one sum at one coordinate partition it together.
void UseCollector::note_open_puts(const Node& sum, const Context& context) {
  if (context.below_put) return;
  std::map<std::string, std::pair<AffineMap, std::vector<NodeId>>> groups;
  for (const NodeId arg : sum.args) {
    const Node* node = &graph_[arg];
    NodeId put = arg;
    Substitution env = restricted(context.env, node->dims);
    while (node->kind == NodeKind::View) {
      const AffineMap coordinate = substitute(node->map, env);
      env = restricted(env, graph_[node->args[0]].dims);
      env[node->dim.name] = coordinate;
      put = node->args[0];
      node = &graph_[put];
    }
    if (node->kind != NodeKind::Put) continue;
    auto& [coordinate, puts] = groups[formula(env[node->dim.name])];
    coordinate = env[node->dim.name];
    puts.push_back(put);
  }
  for (const auto& [text, group] : groups) {
    const auto& terms = group.first.terms;
    const bool own = std::none_of(terms.begin(), terms.end(), [](const auto& t) { return is_bound(t.dim.name); });
    if (own) uses_.puts.push_back({group.second.front(), group.first, group.second});
  }
}

void UseCollector::walk_put(const Node& node, NodeId id, Context context) {
  const AffineMap coordinate = context.env[node.dim.name];
  context.env.erase(node.dim.name);
  const bool own = std::none_of(coordinate.terms.begin(), coordinate.terms.end(),
                                [](const auto& t) { return is_bound(t.dim.name); });
  const bool noted = std::any_of(uses_.puts.begin(), uses_.puts.end(), [&](const OpenPut& open) {
    return std::find(open.siblings.begin(), open.siblings.end(), id) != open.siblings.end();
  });
  if (own && !noted && !context.below_put) uses_.puts.push_back({id, coordinate, {id}});

  // Where one coordinate runs through the put's one digit, what lies below is read in step with it.
  const auto put_offset = node.map.offset.constant(), offset = coordinate.offset.constant();
  const bool in_step = node.map.terms.size() == 1 && coordinate.terms.size() == 1 &&
                       coordinate.terms[0].stride == Dim(1) && put_offset && offset;
  for (const auto& term : node.map.terms) {
    const auto stride = term.stride.constant(), extent = term.dim.extent.constant();
    const NamedDim& variable = coordinate.terms.empty() ? term.dim : coordinate.terms[0].dim;
    if (in_step && stride == 1 && extent) {
      const int64_t shift = *put_offset - *offset;
      context.env[term.dim.name] = {.offset = Dim(-shift), .terms = {{variable, Dim(1)}}};
      context.limits[variable.name] = {shift, *extent};
    } else {
      const NamedDim bound = bind(term.dim, id);
      context.env[term.dim.name] = affine(bound);
      if (in_step && stride && *stride > 0) strided_[bound.name] = {variable, *stride, *put_offset - *offset};
    }
  }
  context.below_put = true;
  walk(node.args[0], context);
}

}  // namespace coda
