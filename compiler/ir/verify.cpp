#include "compiler/ir/verify.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "compiler/ir/meaning.h"
#include "compiler/ir/text.h"
#include "compiler/ir/words.h"

namespace coda {

namespace {

using Violation = std::optional<std::string>;

bool contains(const std::vector<NamedDim>& dims, const NamedDim& dim) {
  return std::find(dims.begin(), dims.end(), dim) != dims.end();
}
bool has_map(const Node& node) { return node.kind == NodeKind::View || node.kind == NodeKind::Put; }

struct Count {
  int least, most;  ///< most < 0: any number
};
Count argument_count(const Node& node) {
  static const std::map<NodeKind, Count> table = {
      {NodeKind::Input, {0, 0}},  {NodeKind::Constant, {0, 0}},  {NodeKind::Index, {0, 0}},
      {NodeKind::Extent, {0, 0}}, {NodeKind::Contract, {0, -1}}, {NodeKind::Sum, {0, -1}},
      {NodeKind::View, {1, 1}},   {NodeKind::Put, {1, 1}},       {NodeKind::Reduce, {1, 1}},
      {NodeKind::Gather, {2, 2}}, {NodeKind::Cast, {1, 1}},
  };
  if (node.kind == NodeKind::Apply) return {node.op->arity, node.op->arity};
  return table.at(node.kind);
}

Violation has_its_attributes(const Graph&, const Node& node) {
  if (node.kind == NodeKind::Apply && node.op == nullptr) return "has no op";
  if (node.kind == NodeKind::Reduce && node.reduction == nullptr) return "has no reduction";
  if (node.kind == NodeKind::Input && node.param < 0) return "has no parameter";
  if (node.kind == NodeKind::Sum && node.coefficients.size() != node.args.size()) {
    return "has " + std::to_string(node.coefficients.size()) + " coefficients for " + std::to_string(node.args.size()) +
           " terms";
  }
  return std::nullopt;
}

Violation has_right_number_of_arguments(const Graph&, const Node& node) {
  const Count count = argument_count(node);
  const int given = static_cast<int>(node.args.size());
  if (given >= count.least && (count.most < 0 || given <= count.most)) return std::nullopt;
  return "has " + std::to_string(given) + " arguments, " + std::to_string(count.least) + " needed";
}

Violation arguments_are_in_the_graph(const Graph& graph, const Node& node) {
  for (const NodeId arg : node.args) {
    if (arg < 0 || arg >= graph.size()) return "its argument %" + std::to_string(arg) + " is not in the graph";
  }
  return std::nullopt;
}

Violation one_name_has_one_extent(const Graph& graph, const Node& node) {
  std::map<std::string, Dim> extents;
  Violation violation;
  auto see = [&](const NamedDim& dim) {
    const auto [it, is_new] = extents.emplace(dim.name, dim.extent);
    if (!is_new && !(it->second == dim.extent)) {
      violation = "dimension " + dim.name + " has extents " + it->second.text() + " and " + dim.extent.text();
    }
  };
  for (const NodeId arg : node.args) std::for_each(graph[arg].dims.begin(), graph[arg].dims.end(), see);
  for (const auto* dims : {&node.dims, &node.over}) std::for_each(dims->begin(), dims->end(), see);
  for (const auto& term : node.map.terms) see(term.dim);
  if (has_map(node) || node.kind == NodeKind::Gather || node.kind == NodeKind::Index) see(node.dim);
  return violation;
}

Violation names_no_dimension_twice(const Graph&, const Node& node) {
  for (const auto* dims : {&node.dims, &node.over}) {
    std::set<std::string> names;
    for (const auto& dim : *dims) {
      if (!names.insert(dim.name).second) return "names a dimension twice";
    }
  }
  return std::nullopt;
}

Violation sums_over_what_is_there(const Graph& graph, const Node& node) {
  for (const auto& dim : node.over) {
    if (node.kind != NodeKind::Contract && node.kind != NodeKind::Reduce) return "sums, but is no sum";
    const bool found =
        std::any_of(node.args.begin(), node.args.end(), [&](NodeId arg) { return contains(graph[arg].dims, dim); });
    if (!found) return "no argument has the summed dimension " + dim.name;
  }
  return std::nullopt;
}

Violation indexed_dimension_is_there(const Graph& graph, const Node& node) {
  if (node.kind != NodeKind::View && node.kind != NodeKind::Gather) return std::nullopt;
  if (contains(graph[node.args[0]].dims, node.dim)) return std::nullopt;
  return "its argument has no dimension " + node.dim.name;
}

Violation put_dimensions_fit(const Graph& graph, const Node& node) {
  if (node.kind != NodeKind::Put) return std::nullopt;
  std::vector<NamedDim> rest = graph[node.args[0]].dims;
  for (const auto& term : node.map.terms) {
    if (!contains(rest, term.dim)) return "its argument has no dimension " + term.dim.name;
    std::erase(rest, term.dim);
  }
  if (contains(rest, node.dim)) return "its argument keeps a dimension " + node.dim.name;
  return std::nullopt;
}

Violation gather_index_is_whole(const Graph& graph, const Node& node) {
  if (node.kind != NodeKind::Gather || graph[node.args[1]].num_class == NumClass::Int) return std::nullopt;
  return "its index is not of class Int";
}

Violation reduction_lifts_what_is_there(const Graph& graph, const Node& node) {
  if (node.kind != NodeKind::Reduce) return std::nullopt;
  const auto given = static_cast<int>(lifted_parts(graph, node.args[0]).size());
  if (given == node.reduction->arity()) return std::nullopt;
  return "its reduction lifts " + std::to_string(node.reduction->arity()) + " values, and is given " +
         std::to_string(given);
}

Violation op_takes_these_classes(const Graph& graph, const Node& node) {
  if (node.kind != NodeKind::Apply) return std::nullopt;
  const char* wrong = class_error(graph, *node.op, node.args);
  return wrong == nullptr ? Violation() : std::string(node.op->name) + ": " + wrong;
}

Violation lists_are_in_order(const Graph&, const Node& node) {
  auto is_strictly_sorted = [](const std::vector<NamedDim>& dims) {
    return std::adjacent_find(dims.begin(), dims.end(), [](const auto& a, const auto& b) { return !(a < b); }) ==
           dims.end();
  };
  if (!is_strictly_sorted(node.dims)) return "its dimensions are not in order";
  if (!is_strictly_sorted(node.over)) return "its summed dimensions are not in order";
  const bool commutes = node.kind == NodeKind::Contract || node.kind == NodeKind::Sum;
  if (commutes && !std::is_sorted(node.args.begin(), node.args.end())) return "its arguments are not in order";
  return std::nullopt;
}

/// Dimensions that follow from arguments and attributes.
std::vector<NamedDim> expected_dims(const Graph& graph, const Node& node) {
  if (node.kind == NodeKind::Input) return node.dims;
  std::vector<NamedDim> dims;
  if (node.kind == NodeKind::Index || node.kind == NodeKind::Put) dims.push_back(node.dim);
  std::set<std::string> gone;
  for (const auto& dim : node.over) gone.insert(dim.name);
  if (node.kind == NodeKind::Put) {
    for (const auto& term : node.map.terms) gone.insert(term.dim.name);
  }
  if (node.kind == NodeKind::View || node.kind == NodeKind::Gather) gone.insert(node.dim.name);
  for (size_t i = 0; i < node.args.size(); ++i) {
    const bool is_index = node.kind == NodeKind::Gather && i == 1;
    for (const auto& dim : graph[node.args[i]].dims) {
      if (is_index || !gone.contains(dim.name)) dims.push_back(dim);
    }
  }
  if (node.kind == NodeKind::View) {
    for (const auto& term : node.map.terms) dims.push_back(term.dim);
  }
  std::sort(dims.begin(), dims.end());
  dims.erase(std::unique(dims.begin(), dims.end()), dims.end());
  return dims;
}

Violation dimensions_follow(const Graph& graph, const Node& node) {
  const std::vector<NamedDim> expected = expected_dims(graph, node);
  if (node.dims == expected) return std::nullopt;
  std::string text;
  for (const auto& dim : expected) text += (text.empty() ? "" : ", ") + to_text(dim);
  return "its dimensions should be [" + text + "]";
}

NumClass expected_class(const Graph& graph, const Node& node) {
  switch (node.kind) {
    case NodeKind::Input:
    case NodeKind::Constant:
      return node.num_class;
    case NodeKind::Index:
    case NodeKind::Extent:
      return NumClass::Int;
    case NodeKind::Contract:
      return arithmetic_class(graph, node.args);
    case NodeKind::Sum: {
      const bool whole = std::all_of(node.coefficients.begin(), node.coefficients.end(),
                                     [](double c) { return c == std::nearbyint(c); });
      return whole ? arithmetic_class(graph, node.args) : NumClass::Real;
    }
    case NodeKind::Apply:
      return result_class(graph, *node.op, node.args);
    case NodeKind::View:
    case NodeKind::Put:
    case NodeKind::Gather:
      return graph[node.args[0]].num_class;
    case NodeKind::Reduce:
      return node.reduction->result;
    case NodeKind::Cast:
      return info(node.dtype).num_class;
  }
  return node.num_class;
}

Violation class_follows(const Graph& graph, const Node& node) {
  const NumClass expected = expected_class(graph, node);
  if (node.num_class == expected) return std::nullopt;
  return "its class should be " + std::string(word_of(kClassWords, expected));
}

constexpr NodeRule kRules[] = {
    {"attributes", true, has_its_attributes},
    {"argument count", true, has_right_number_of_arguments},
    {"arguments", true, arguments_are_in_the_graph},
    {"one extent a name", true, one_name_has_one_extent},
    {"repeated dimension", true, names_no_dimension_twice},
    {"summed dimensions", true, sums_over_what_is_there},
    {"indexed dimension", true, indexed_dimension_is_there},
    {"put dimensions", true, put_dimensions_fit},
    {"gather index", true, gather_index_is_whole},
    {"op classes", true, op_takes_these_classes},
    {"lifted values", true, reduction_lifts_what_is_there},
    {"canonical order", false, lists_are_in_order},
    {"result dimensions", false, dimensions_follow},
    {"result class", false, class_follows},
};

Violation first_violation(const Graph& graph, const Node& node, bool arguments_only) {
  for (const NodeRule& rule : kRules) {
    if (arguments_only && !rule.concerns_arguments) continue;
    if (auto violation = rule.violation(graph, node)) return violation;
  }
  return std::nullopt;
}

}  // namespace

std::span<const NodeRule> node_rules() { return kRules; }

std::optional<std::string> argument_violation(const Graph& graph, const Node& node) {
  return first_violation(graph, node, true);
}

std::optional<std::string> node_violation(const Graph& graph, const Node& node) {
  return first_violation(graph, node, false);
}

}  // namespace coda
