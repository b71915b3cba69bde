#include "compiler/codegen/sm90_single_term.h"

#include <algorithm>

namespace coda {
namespace {

/// Reductions are shared by lanes, all of which must be there.
bool has_reduction(const EpilogueProgram& epilogue, NodeId id) {
  const Node& node = epilogue.program.graph[id];
  if (id == epilogue.accumulator) return false;
  return !node.over.empty() ||
         std::any_of(node.args.begin(), node.args.end(), [&](NodeId arg) { return has_reduction(epilogue, arg); });
}

/// The region's columns are the dimension's elements, each once and in order.
bool walks_all(const EpilogueProgram& epilogue, const Statistic::Part& part, const NamedDim& dim) {
  const ColumnSpace& columns = part.columns;
  if (columns.phase != 0 || columns.digits.size() != 1) return false;
  const ColumnDigit& digit = columns.digits[0];
  return digit.dim == dim && digit.stride == Dim(1) && digit.offset == Dim(0) && digit.extent == dim.extent &&
         epilogue.regions[static_cast<size_t>(part.region)].extent == dim.extent;
}

}  // namespace

std::optional<Sm90SingleTerm> sm90_single_term(const EpilogueProgram& epilogue, const Statistic& statistic,
                                               const Statistic::Part& part) {
  const Graph& graph = epilogue.program.graph;
  const Node &whole = graph[statistic.node], &body = graph[part.body];
  if (whole.kind != NodeKind::Contract || whole.args.size() != 1 || whole.over.size() != 1) return std::nullopt;
  if (body.kind != NodeKind::Apply || body.op != find_op("select")) return std::nullopt;
  const Node &hit = graph[body.args[0]], &otherwise = graph[body.args[2]];
  if (otherwise.kind != NodeKind::Constant || otherwise.value != 0) return std::nullopt;
  if (hit.kind != NodeKind::Apply || hit.op != find_op("eq")) return std::nullopt;
  const NamedDim& dim = whole.over[0];
  for (const size_t side : {size_t{0}, size_t{1}}) {
    const Node& index = graph[hit.args[side]];
    const NodeId wanted = hit.args[1 - side];
    if (index.kind != NodeKind::Index || !(index.dim == dim) || graph[wanted].has_dim(dim.name)) continue;
    const bool direct = statistic.scope == StatScope::Row && statistic.parts.size() == 1 &&
                        graph[wanted].num_class == NumClass::Int && graph[body.args[1]].num_class == NumClass::Real &&
                        walks_all(epilogue, part, dim) && !has_reduction(epilogue, body.args[1]) &&
                        !has_reduction(epilogue, wanted);
    return Sm90SingleTerm{body.args[0], body.args[1], wanted, direct};
  }
  return std::nullopt;
}

std::optional<Sm90SingleTerm> sm90_direct_term(const EpilogueProgram& epilogue, const Statistic& statistic) {
  const auto term = sm90_single_term(epilogue, statistic, statistic.parts[0]);
  return term && term->direct ? term : std::nullopt;
}

}  // namespace coda
