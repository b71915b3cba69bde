// The meaning of the IR by plain loops over one point at a time: slow and obviously right, for tests of the evaluator.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "compiler/ir/graph.h"
#include "compiler/ir/meaning.h"

namespace coda::test {

using Point = std::map<std::string, int64_t>;

struct Naive {
  const Program& program;
  Bindings bindings;
  /// Element of an array parameter at coordinates in declared order, or a scalar.
  std::function<double(int param, const std::vector<int64_t>&)> element;

  int64_t value_of(const Dim& dim) const { return dim.evaluate(bindings).value(); }

  /// Calls body for every point of the dimensions, added to `point`.
  void each(const std::vector<NamedDim>& dims, Point point, const std::function<void(const Point&)>& body) const {
    std::function<void(size_t)> step = [&](size_t i) {
      if (i == dims.size()) return body(point);
      for (int64_t x = 0; x < value_of(dims[i].extent); ++x) {
        point[dims[i].name] = x;
        step(i + 1);
      }
    };
    step(0);
  }

  int64_t mapped(const AffineMap& map, const Point& point) const {
    int64_t at = value_of(map.offset);
    for (const auto& term : map.terms) at += value_of(term.stride) * point.at(term.dim.name);
    return at;
  }

  double at(NodeId id, const Point& point) const {
    const Node& node = program.graph[id];
    auto arg = [&](size_t i, const Point& p) { return at(node.args[i], p); };
    switch (node.kind) {
      case NodeKind::Input: {
        std::vector<int64_t> coordinates;
        for (const auto& dim : program.params[node.param].dims) coordinates.push_back(point.at(dim.name));
        return element(node.param, coordinates);
      }
      case NodeKind::Constant:
        return node.value;
      case NodeKind::Index:
        return static_cast<double>(point.at(node.dim.name));
      case NodeKind::Extent:
        return static_cast<double>(value_of(node.map.offset));
      case NodeKind::Contract: {
        double total = 0;
        bool first = true;
        each(node.over, point, [&](const Point& p) {
          double product = node.args.empty() ? 1 : arg(0, p);
          for (size_t i = 1; i < node.args.size(); ++i) product *= arg(i, p);
          total = first && node.over.empty() ? product : total + product;
          first = false;
        });
        return total;
      }
      case NodeKind::Sum: {
        double total = node.args.empty() ? 0 : node.coefficients[0] * arg(0, point);
        for (size_t i = 1; i < node.args.size(); ++i) total += node.coefficients[i] * arg(i, point);
        return total;
      }
      case NodeKind::Apply: {
        std::vector<double> args;
        for (size_t i = 0; i < node.args.size(); ++i) args.push_back(arg(i, point));
        return node.op->eval(args);
      }
      case NodeKind::View: {
        Point inner = point;
        inner[node.dim.name] = mapped(node.map, point);
        return arg(0, inner);
      }
      case NodeKind::Put: {
        std::vector<NamedDim> digits;
        for (const auto& term : node.map.terms) digits.push_back(term.dim);
        double total = 0;
        each(digits, point, [&](const Point& p) {
          if (mapped(node.map, p) == point.at(node.dim.name)) total += arg(0, p);
        });
        return total;
      }
      case NodeKind::Reduce: {
        double state[kMaxStateWords], lifted[kMaxStateWords] = {}, count = 0;
        std::copy_n(node.reduction->identity, kMaxStateWords, state);
        each(node.over, point, [&](const Point& p) {
          const std::vector<NodeId> parts = lifted_parts(program.graph, node.args[0]);
          for (size_t i = 0; i < parts.size(); ++i) lifted[i] = at(parts[i], p);
          node.reduction->lift(lifted, state);
          ++count;
        });
        return node.reduction->finish(state, count);
      }
      case NodeKind::Gather: {
        const double index = arg(1, point);
        if (!(index >= 0 && index < static_cast<double>(value_of(node.dim.extent)))) return 0;
        Point inner = point;
        inner[node.dim.name] = static_cast<int64_t>(index);
        return arg(0, inner);
      }
      case NodeKind::Cast:
        return round_to(arg(0, point), node.dtype);
    }
    return std::nan("");
  }
};

}  // namespace coda::test
