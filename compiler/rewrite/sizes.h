// How large things are for the planner: extents under the sizes a plan is made for. Only choices depend on these
// numbers, never meaning.
#pragma once

#include <algorithm>
#include <cmath>

#include "compiler/ir/graph.h"

namespace coda {

class SizeHints {
 public:
  /// Symbols that `hints` does not give count as `fallback`; those that are 0, as 1: what is empty costs nothing, and
  /// so can't be weighed.
  explicit SizeHints(Bindings hints, int64_t fallback = 4096) : hints_(std::move(hints)), fallback_(fallback) {
    for (auto& [name, value] : hints_) {
      if (value <= 0) empty_[name] = 0;
      value = std::max<int64_t>(value, 1);
    }
  }
  /// Whether the plan is made for an extent of 0.
  bool is_nothing(const Dim& dim) const { return !empty_.empty() && dim.substitute(empty_).is_zero(); }

  double extent(const Dim& dim) const {
    Bindings all = hints_;
    for (const auto& symbol : dim.symbols()) all.try_emplace(symbol, fallback_);
    return static_cast<double>(dim.evaluate(all).value_or(fallback_));
  }
  double elements(const std::vector<NamedDim>& dims) const {
    double count = 1;
    for (const auto& dim : dims) count *= extent(dim.extent);
    return count;
  }

  /// Values of fewer elements (row and column vectors, scalars) are light: each consumer recomputes them.
  double wide_from = 1;
  bool vectors_are_light = false;  ///< beside a GEMM, however long
  bool wide(const std::vector<NamedDim>& dims) const {
    return elements(dims) >= wide_from && (dims.size() > 1 || !vectors_are_light);
  }
  bool wide(const Node& node) const { return wide(node.dims); }

 private:
  Bindings hints_, empty_;
  int64_t fallback_;
};

}  // namespace coda
