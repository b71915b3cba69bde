#include "compiler/plan/storage.h"

#include <algorithm>
#include <cmath>

#include "compiler/ir/storage_type.h"
#include "compiler/plan/min_cut.h"

namespace coda {

namespace {

/// Intermediates are kept in 16 bits, or in 32 where they count by distance; parameters have their own types.
constexpr double kStoredBytes = 2, kWholeBytes = 4;

class Storage {
 public:
  Storage(Algebra& algebra, const Program& block, Hosting& hosting, const MachineModel& machine)
      : algebra_(algebra),
        graph_(algebra.graph()),
        block_(block),
        hosting_(hosting),
        machine_(machine),
        by_distance_(elements_by_distance(graph_, topological(graph_, hosting.values().roots()))) {}

  CostedPlan run() {
    // What is kept is computed somewhere, from what is kept then too.
    for (size_t before = 0; before != hosting_.stored.size() + 1;) {
      before = hosting_.stored.size() + 1;
      cut();
    }
    CostedPlan plan;
    for (size_t k = 0; k < hosting_.kernels.size(); ++k) plan.traffic.push_back(count(static_cast<int>(k)));
    statistics(plan.traffic);
    for (size_t k = 0; k < hosting_.kernels.size(); ++k) {
      plan.bytes += plan.traffic[k].bytes;
      plan.flops += plan.traffic[k].flops;
      plan.seconds += plan.traffic[k].seconds;
    }
    return plan;
  }

 private:
  double bytes(NodeId id) const {
    const auto written = written_type(graph_, block_, id);
    const bool whole = by_distance_.contains(id) || hosting_.is_statistic(id);
    const double each = written ? info(*written).bits / 8.0 : whole ? kWholeBytes : kStoredBytes;
    return each * algebra_.sizes().elements(graph_[id].dims);
  }
  int home(NodeId id) const {
    const auto it = hosting_.home.find(id);
    return it == hosting_.home.end() ? -1 : it->second;
  }

  /// Walks what kernel k computes. `given(node)` says whether a wide value hosted elsewhere can be read.
  template <typename Given>
  void walk(int k, const Given& given, std::set<NodeId>& computed, std::map<NodeId, std::vector<NodeId>>& needed,
            std::set<NodeId>& light) const {
    const HostKernel& kernel = hosting_.kernels[static_cast<size_t>(k)];
    std::vector<std::pair<NodeId, NodeId>> stack;  // (node, user)
    for (const NodeId host : kernel.hosts) {
      const bool wanted = (hosting_.stored.contains(host) && host != kernel.accumulator) || hosting_.is_statistic(host);
      if (wanted) stack.push_back({host, kNoNode});
    }
    for (const NodeId stored : hosting_.stored) {
      if (home(stored) == k) stack.push_back({stored, kNoNode});
    }
    while (!stack.empty()) {
      const auto [node, user] = stack.back();
      stack.pop_back();
      if (user != kNoNode && !algebra_.wide(node)) {
        if (light.insert(node).second && light_computed_here(node, k)) {
          for (const NodeId arg : graph_[node].args) stack.push_back({arg, node});
        }
        continue;
      }
      if (node == kernel.accumulator) {
        computed.insert(node);
        continue;
      }
      const bool elsewhere = user != kNoNode && (hosting_.is_source(node) || (given(node) && home(node) < k));
      if (elsewhere) {
        needed[node].push_back(user);
        continue;
      }
      if (!computed.insert(node).second) continue;
      if (hosting_.is_source(node)) {
        needed[node].push_back(kNoNode);
        continue;
      }
      for (const NodeId arg : graph_[node].args) stack.push_back({arg, node});
    }
  }

  /// A light value complete in this kernel's tile is computed from wide values here.
  bool light_computed_here(NodeId node, int k) const { return hosting_.known_after(node) == k - 0.5; }

  void cut() {
    std::set<NodeId> demanded;
    for (size_t k = 0; k < hosting_.kernels.size(); ++k) {
      std::set<NodeId> computed, light;
      std::map<NodeId, std::vector<NodeId>> needed;
      walk(
          static_cast<int>(k), [&](NodeId node) { return home(node) >= 0; }, computed, needed, light);
      for (const auto& [node, users] : needed) {
        if (!hosting_.is_source(node)) demanded.insert(node);
      }
    }
    constexpr int kSource = -1, kSink = -2;
    const auto in = [](NodeId id) { return 2 * id; };
    const auto out = [](NodeId id) { return 2 * id + 1; };
    MinCut network;
    for (const NodeId id : topological(graph_, {demanded.begin(), demanded.end()})) {
      if (!algebra_.wide(id)) continue;
      const bool free = hosting_.stored.contains(id) || hosting_.is_source(id);
      const double rounded = written_type(graph_, block_, id) ? 1 : 2;  // as it is written, none is added
      network.edge(in(id), out(id), (free ? 0 : bytes(id)) + bytes(id) + rounded);
      if (hosting_.is_source(id) || algebra_.is_gemm(id) || hosting_.is_statistic(id)) {
        network.edge(kSource, in(id), MinCut::kInfinite);
        if (hosting_.is_source(id) || algebra_.is_gemm(id)) continue;
      }
      for (const NodeId arg : graph_[id].args) {
        if (algebra_.wide(arg)) network.edge(out(arg), in(id), MinCut::kInfinite);
      }
    }
    for (const NodeId id : demanded) network.edge(out(id), kSink, MinCut::kInfinite);
    const std::set<int> side = network.source_side(kSource, kSink);
    for (const int vertex : side) {
      if (vertex < 0 || vertex % 2 != 0 || side.contains(vertex + 1)) continue;
      const NodeId id = vertex / 2;
      if (!hosting_.is_source(id)) hosting_.stored.insert(id);
    }
  }

  KernelTraffic count(int k) const {
    const HostKernel& kernel = hosting_.kernels[static_cast<size_t>(k)];
    KernelTraffic traffic;
    if (kernel.kind == KernelKind::External) return traffic;
    std::set<NodeId> computed, light;
    std::map<NodeId, std::vector<NodeId>> needed;
    walk(
        k, [&](NodeId node) { return hosting_.stored.contains(node); }, computed, needed, light);
    double moved = 0;
    for (const auto& [node, users] : needed) {
      traffic.loads.push_back(node);
      // A tensor read only in pieces costs its pieces.
      double pieces = 0;
      bool whole = users.empty();
      for (const NodeId user : users) {
        if (user == kNoNode || graph_[user].kind != NodeKind::View) whole = true;
        if (user != kNoNode) pieces += bytes(user);
      }
      moved += whole ? bytes(node) : std::min(bytes(node), pieces);
    }
    for (const NodeId node : hosting_.stored) {
      if (home(node) == k) traffic.stores.push_back(node);
    }
    for (const NodeId node : traffic.stores) moved += bytes(node);
    traffic.light = {light.begin(), light.end()};
    traffic.computed = {computed.begin(), computed.end()};
    if (kernel.accumulator != kNoNode) {
      std::vector<NamedDim> all;
      for (const NodeId side : kernel.operands) all = set_union(all, graph_[side].dims);
      traffic.flops = 2 * algebra_.sizes().elements(all);
    }
    traffic.seconds =
        traffic.flops / machine_.flops_per_second + moved / machine_.bytes_per_second + machine_.seconds_per_launch;
    for (const NodeId side : kernel.operands) moved += bytes(side);
    traffic.bytes = moved;
    if (kernel.kind == KernelKind::RowWise && weights_only(kernel)) traffic.bytes = traffic.seconds = 0;
    return traffic;
  }

  /// Each kernel leaves its statistics to others; those it finishes and uses by itself only if others use them too.
  void statistics(std::vector<KernelTraffic>& traffic) const {
    std::vector<std::set<NodeId>> used;
    for (const KernelTraffic& one : traffic) {
      const auto below = topological(graph_, one.light);
      used.emplace_back(below.begin(), below.end());
    }
    used.emplace_back();  // outputs made of light values alone, after all kernels
    for (const auto& [param, value] : hosting_.values().outputs) {
      if (algebra_.wide(value)) continue;
      const double after = std::ceil(hosting_.known_after(value));
      for (const NodeId below : topological(graph_, {value})) {
        used[after < 0 ? traffic.size() : static_cast<size_t>(after)].insert(below);
      }
    }
    for (size_t k = 0; k < traffic.size(); ++k) {
      const HostKernel& kernel = hosting_.kernels[k];
      for (const NodeId host : kernel.hosts) {
        if (host == kernel.accumulator || !hosting_.is_statistic(host)) continue;
        bool wanted = algebra_.wide(host) || hosting_.known_after(host) == static_cast<double>(k);
        for (size_t other = 0; other < used.size(); ++other) {
          wanted = wanted ||
                   (other != k && used[other].contains(host) && !light_computed_here(host, static_cast<int>(other)));
        }
        if (wanted) traffic[k].statistics.push_back(host);
      }
    }
  }

  bool weights_only(const HostKernel& kernel) const {
    const auto below = topological(graph_, kernel.hosts);
    return std::all_of(below.begin(), below.end(), [&](NodeId id) {
      const Node& node = graph_[id];
      return node.kind != NodeKind::Input || block_.params[static_cast<size_t>(node.param)].is_const;
    });
  }

  Algebra& algebra_;
  const Graph& graph_;
  const Program& block_;
  Hosting& hosting_;
  const MachineModel& machine_;
  const std::set<NodeId> by_distance_;
};

}  // namespace

CostedPlan settle_storage(Algebra& algebra, const Program& block, Hosting& hosting, const MachineModel& machine) {
  return Storage(algebra, block, hosting, machine).run();
}

}  // namespace coda
