// Minimum cut of a small graph with real capacities (breadth-first augmenting paths).
#pragma once

#include <map>
#include <set>
#include <vector>

namespace coda {

class MinCut {
 public:
  static constexpr double kInfinite = 1e300;
  void edge(int from, int to, double capacity);
  /// Vertices on the source's side of a minimum cut.
  std::set<int> source_side(int source, int sink);

 private:
  std::map<int, std::map<int, double>> residual_;
};

}  // namespace coda
