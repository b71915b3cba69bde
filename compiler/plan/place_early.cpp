#include "compiler/plan/place_early.h"

#include <algorithm>

#include "compiler/ir/storage_type.h"

namespace coda {

namespace {

constexpr int kMostMoves = 64;

struct Move {
  NodeId gemm = kNoNode, factor = kNoNode;
  std::vector<NodeId> users;
};

/// Can every operand that has the factor's dimensions take it in without a loss? One that is written as a cast, or is
/// a parameter, would be rounded once more; and types with few exponents lose what a factor makes large or small.
bool harmless(const Algebra& algebra, const Program& block, const Hosting& hosting, NodeId gemm, const Node& factor) {
  const auto is_its = [&](const HostKernel& kernel) { return kernel.accumulator == gemm; };
  const auto kernel = std::find_if(hosting.kernels.begin(), hosting.kernels.end(), is_its);
  if (kernel == hosting.kernels.end() || kernel->operands.size() != 2) return false;
  const Graph& graph = algebra.graph();
  const auto [first, second] = hosting.types_of(kernel->operands);
  const auto is_half = [](const Param& param) { return param.dtype == DType::F16; };
  for (size_t side = 0; side < 2; ++side) {
    const NodeId operand = kernel->operands[side];
    if (!subset(factor.dims, graph[operand].dims)) continue;
    if (written_type(graph, block, operand)) return false;
    const auto type = side == 0 ? first : second;
    if (!keeps_any_scale(type.value_or(storage_type(block)))) return false;
    if (!type && std::any_of(block.params.begin(), block.params.end(), is_half)) return false;
  }
  return true;
}

std::optional<Move> find_move(Algebra& algebra, const Program& block, const BlockValues& values,
                              const Hosting& hosting) {
  const Graph& graph = algebra.graph();
  const auto nodes = topological(graph, values.roots());
  std::map<NodeId, std::vector<NodeId>> users;
  for (const NodeId node : nodes) {
    for (const NodeId arg : graph[node].args) {
      if (users[arg].empty() || users[arg].back() != node) users[arg].push_back(node);
    }
  }
  for (const NodeId gemm : nodes) {
    const auto is_output = [&](const auto& output) { return output.second == gemm; };
    if (!algebra.is_gemm(gemm) || users[gemm].empty()) continue;
    if (std::any_of(values.outputs.begin(), values.outputs.end(), is_output)) continue;
    const auto has = [&](NodeId user, NodeId factor) {
      const Node& node = graph[user];
      return node.kind == NodeKind::Contract && std::count(node.args.begin(), node.args.end(), factor) > 0;
    };
    for (const NodeId factor : graph[users[gemm][0]].args) {
      const Node& r = graph[factor];
      if (factor == gemm || algebra.wide(factor) || r.dims.empty() || meet(r.dims, graph[gemm].over)) continue;
      if (!std::all_of(users[gemm].begin(), users[gemm].end(), [&](NodeId user) { return has(user, factor); }))
        continue;
      // Some operand is made by a kernel that starts after the factor is finished.
      const bool in_time = std::any_of(graph[gemm].args.begin(), graph[gemm].args.end(), [&](NodeId operand) {
        const auto home = hosting.home.find(operand);
        return algebra.wide(operand) && !hosting.is_source(operand) && subset(r.dims, graph[operand].dims) &&
               home != hosting.home.end() && home->second >= 0 && hosting.known_after(factor) < home->second;
      });
      if (in_time && harmless(algebra, block, hosting, gemm, r)) return Move{gemm, factor, users[gemm]};
    }
  }
  return std::nullopt;
}

}  // namespace

BlockValues place_early(Algebra& algebra, const Program& block, BlockValues values, const FoldChoice& fold,
                        const std::set<int>& late_params, std::map<NodeId, NodeId>& moved) {
  for (int moves = 0; moves < kMostMoves; ++moves) {
    Hosting hosting(algebra, block, values, fold, late_params);
    if (!hosting.run()) return values;
    const auto move = find_move(algebra, block, values, hosting);
    if (!move) return values;
    const Node gemm = algebra.graph()[move->gemm];
    std::vector<NodeId> inside = gemm.args;
    inside.push_back(move->factor);
    // Made directly: the normal form would move the factor out again.
    const NodeId placed = algebra.graph().contract(inside, gemm.over, gemm.span);
    std::map<NodeId, NodeId> replacements;
    for (const NodeId user : move->users) {
      const Node node = algebra.graph()[user];
      std::vector<NodeId> rest = node.args;
      for (const NodeId gone : {move->factor, move->gemm}) rest.erase(std::find(rest.begin(), rest.end(), gone));
      rest.push_back(placed);
      replacements[user] = algebra.product(rest, node.over, node.span);
    }
    for (auto& [param, value] : values.outputs) value = algebra.substitute(value, replacements);
    const auto before = moved.find(move->gemm);
    moved[placed] = before == moved.end() ? move->gemm : before->second;
    algebra.note(kPlaceEarly, placed, {{"r", move->factor}}, gemm.span);
  }
  return values;
}

}  // namespace coda
