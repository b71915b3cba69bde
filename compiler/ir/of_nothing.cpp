#include "compiler/ir/of_nothing.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "compiler/ir/meaning.h"

namespace coda {

namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

/// Whether an extent is 0 where `symbol` is.
bool vanishes(const Dim& extent, const std::string& symbol) { return extent.substitute({{symbol, 0}}).is_zero(); }

}  // namespace

std::optional<double> OfNothing::at(NodeId id, const std::string& symbol) {
  const auto key = std::pair(symbol, id);
  if (const auto known = known_.find(key); known != known_.end()) return known->second;
  return known_[key] = at(graph_[id], symbol);
}

std::optional<double> OfNothing::at(const Node& node, const std::string& symbol) {
  if (node.kind == NodeKind::Constant) return node.value;
  if (node.kind == NodeKind::Extent) return vanishes(node.map.offset, symbol) ? std::optional(0.0) : std::nullopt;
  const bool empty =
      std::any_of(node.over.begin(), node.over.end(), [&](const NamedDim& d) { return vanishes(d.extent, symbol); });
  if (empty && node.kind == NodeKind::Contract) return 0;
  if (empty) return node.reduction->finish(node.reduction->identity, 0);

  std::vector<double> values;
  bool all_known = !node.args.empty(), infinite = false, zero = false;
  for (const NodeId arg : node.args) {
    const auto value = at(arg, symbol);
    all_known = all_known && value;
    infinite = infinite || (value && !std::isfinite(*value));
    zero = zero || (value && *value == 0);
    values.push_back(value.value_or(0));
  }
  if (!all_known) {
    const bool is_zero = zero && node.kind == NodeKind::Contract;
    return infinite ? std::optional(kNone) : is_zero ? std::optional(0.0) : std::nullopt;
  }
  switch (node.kind) {
    case NodeKind::Contract: {
      double product = 1;
      for (const double value : values) product *= value;
      return node.over.empty() || product == 0 || std::isnan(product) ? std::optional(product) : std::nullopt;
    }
    case NodeKind::Sum:
      return linear_combination(values, node.coefficients);
    case NodeKind::Apply:
      if (node.op->packs) return std::nullopt;
      return apply_op(*node.op, values, node.num_class);
    case NodeKind::View:
      return values[0];
    case NodeKind::Cast:
      return round_to(values[0], node.dtype);
    default:
      return infinite ? std::optional(kNone) : std::nullopt;
  }
}

bool OfNothing::spoils(NodeId value, const Dim& extent, bool positive) {
  const auto symbols = extent.symbols();
  return std::any_of(symbols.begin(), symbols.end(), [&](const std::string& symbol) {
    if (!vanishes(extent, symbol)) return false;
    const auto known = at(value, symbol);
    return known && (!std::isfinite(*known) || (positive && *known <= 0));
  });
}

}  // namespace coda
