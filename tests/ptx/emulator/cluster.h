// The CTAs of a cluster, which run together, and their scheduler. Copies land as late as can be: when no thread can go
// on without one. With a seed ($CODA_EMULATED_SEED) warps run in random order for random times, and copies land
// whenever.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "tests/ptx/emulator/code.h"
#include "tests/ptx/emulator/shared_memory.h"
#include "tests/ptx/emulator/warp.h"

namespace coda::ptx {

class Cluster;
class GlobalMemory;

/// What all threads of a launch see.
struct LaunchState {
  const Kernel& kernel;
  GlobalMemory& global;
  unsigned grid = 1, threads = 1;
  uint32_t dynamic_shared = 0;
  unsigned sms = 1;
  std::vector<uint8_t> parameters;
  uint64_t instructions = 0;  ///< run so far, a warp's as one
  uint64_t most_instructions = 0;
};

class Cta {
 public:
  Cta(Cluster& cluster, unsigned number, unsigned rank);

  const Kernel& kernel() const;
  Cluster& cluster() { return cluster_; }
  LaunchState& launch();
  unsigned number() const { return number_; }
  unsigned rank() const { return rank_; }
  SharedMemory& shared() { return shared_; }
  std::vector<std::unique_ptr<Warp>>& warps() { return warps_; }
  uint64_t special(Special what, int thread) const;
  bool finished() const;

  /// bar.sync and bar.arrive by a whole warp. True: it goes on at once.
  bool barrier(Warp& warp, const Instruction& in, unsigned id, unsigned threads, bool waits);
  /// wgmma: true for the last warp of its warpgroup to come; the others pause there.
  bool warpgroup_meets(Warp& warp, uint32_t mask);
  void release_warpgroup(Warp& but);

 private:
  struct Barrier {
    unsigned expected = 0, arrived = 0;
    std::vector<Warp*> waiting;
    Clock clock;
  };

  Cluster& cluster_;
  unsigned number_, rank_;
  SharedMemory shared_;
  std::vector<Barrier> barriers_;
  std::vector<std::unique_ptr<Warp>> warps_;
};

class Cluster {
 public:
  Cluster(LaunchState& launch, unsigned number);

  /// Throws Fault.
  void run();

  LaunchState& launch() { return launch_; }
  unsigned number() const { return number_; }
  Cta& cta(unsigned rank) { return *ctas_[rank]; }
  unsigned size() const { return static_cast<unsigned>(ctas_.size()); }
  /// Something happened for which threads may wait.
  void wake();
  /// A copy that was started: what is done when it lands.
  void start_copy(std::function<void()> land) { copies_.push_back(std::move(land)); }
  void count(uint64_t instructions);

  /// barrier.cluster: the phases that all threads have arrived at.
  uint32_t cluster_phase() const { return cluster_phase_; }
  void cluster_arrive(unsigned threads);
  Clock& cluster_clock() { return cluster_clock_; }
  /// The number, as a time, of the next copy to land; the last of a Clock counts them.
  uint32_t next_copy() { return ++landed_; }
  void thread_exits(unsigned threads);

 private:
  void advance_cluster_barrier();
  void land(size_t copy);
  [[noreturn]] void deadlock();

  LaunchState& launch_;
  unsigned number_;
  std::vector<std::unique_ptr<Cta>> ctas_;
  std::deque<std::function<void()>> copies_;
  uint32_t cluster_phase_ = 0;
  unsigned cluster_arrived_ = 0, exited_ = 0;
  Clock cluster_clock_;
  uint32_t landed_ = 0;
  std::optional<std::minstd_rand> random_;
};

}  // namespace coda::ptx
