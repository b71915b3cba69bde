#include "compiler/epilogue/inout.h"

#include <algorithm>
#include <set>

#include "compiler/epilogue/describe.h"
#include "dsl/diagnostics.h"

namespace coda {

namespace {

/// Where something happens: the stage, the region, and how coordinates run through its columns.
struct Place {
  int stage = 0;  ///< 0 in the tile, 1 + scope in the finish stage
  int region = -1;
  const ColumnSpace* columns = nullptr;
};

/// An index into a parameter in terms of the place's digits, so that equal texts are equal elements.
std::string element(const Place& place, const std::vector<AffineMap>& index) {
  Substitution digits;
  std::string text = std::to_string(place.stage) + ":" + std::to_string(place.region);
  if (place.columns != nullptr) {
    text += ":" + std::to_string(place.columns->phase);
    for (size_t i = 0; i < place.columns->digits.size(); ++i) {
      const ColumnDigit& digit = place.columns->digits[i];
      const NamedDim name{"#" + std::to_string(i), digit.extent};
      digits[digit.dim.name] = {.offset = digit.offset, .terms = {{name, Dim(1)}}};
      text += "," + digit.extent.text() + "*" + digit.stride.text();
    }
  }
  for (const auto& map : index) text += ";" + formula(substitute(map, digits));
  return text;
}

}  // namespace

bool check_inouts(Lowering& l, const EpilogueProgram& epilogue) {
  std::map<int, std::set<std::string>> written;
  for (const auto& s : epilogue.stores) written[s.param].insert(element({0, s.region, &s.columns}, s.index));
  for (const auto& s : epilogue.finish_stores) {
    written[s.param].insert(element({1 + static_cast<int>(s.scope), s.region, &s.columns}, s.index));
  }
  std::set<NodeId> statistics;
  for (const auto& s : epilogue.statistics) statistics.insert(s.node);

  const bool rowwise = epilogue.accumulator == kNoNode;
  bool good = true;
  auto check = [&](NodeId value, const Place& place) {
    for (const Read& read :
         l.collector.collect(value, place.stage > 0 || rowwise ? statistics : std::set<NodeId>{}).inputs) {
      const Node& node = l.graph[read.leaf];
      const Param& param = l.source.params[static_cast<size_t>(node.param)];
      if (param.role != Param::Role::InOut || !written.contains(node.param)) continue;
      std::vector<AffineMap> index;
      for (const auto& dim : param.dims) index.push_back(read.at.at(dim.name));
      if (written[node.param].contains(element(place, index))) continue;
      l.diagnostics.report(DiagId::E0330, own_span(l.source, node.span, param.span), {param.name});
      good = false;
    }
  };
  for (const auto& s : epilogue.stores) check(s.value, {0, s.region, &s.columns});
  for (const auto& s : epilogue.statistics) {
    for (const auto& part : s.parts) check(part.body, {0, part.region, &part.columns});
  }
  for (const auto& s : epilogue.finish_stores) {
    check(s.value, {1 + static_cast<int>(s.scope), s.region, &s.columns});
  }
  return good;
}

}  // namespace coda
