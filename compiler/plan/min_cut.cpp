#include "compiler/plan/min_cut.h"

#include <algorithm>

namespace coda {

void MinCut::edge(int from, int to, double capacity) {
  residual_[from][to] = std::min(kInfinite, residual_[from][to] + capacity);
  residual_[to].try_emplace(from, 0.0);
}

std::set<int> MinCut::source_side(int source, int sink) {
  while (true) {
    std::map<int, int> parent{{source, source}};
    std::vector<int> queue{source};
    for (size_t i = 0; i < queue.size() && !parent.contains(sink); ++i) {
      for (const auto& [next, capacity] : residual_[queue[i]]) {
        if (capacity <= 0 || parent.contains(next)) continue;
        parent[next] = queue[i];
        queue.push_back(next);
      }
    }
    if (!parent.contains(sink)) return {queue.begin(), queue.end()};
    double flow = kInfinite;
    for (int at = sink; at != source; at = parent[at]) flow = std::min(flow, residual_[parent[at]][at]);
    if (flow >= kInfinite) return {queue.begin(), queue.end()};  // no finite cut; callers never build such a graph
    for (int at = sink; at != source; at = parent[at]) {
      if (residual_[parent[at]][at] < kInfinite) residual_[parent[at]][at] -= flow;
      if (residual_[at][parent[at]] < kInfinite) residual_[at][parent[at]] += flow;
    }
  }
}

}  // namespace coda
