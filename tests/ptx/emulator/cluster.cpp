#include "tests/ptx/emulator/cluster.h"

#include <algorithm>
#include <cstdlib>

#include "tests/ptx/emulator/addresses.h"
#include "tests/ptx/emulator/fault.h"

namespace coda::ptx {
namespace {

constexpr int kBarriers = 16, kWarpgroupWarps = 4;
constexpr uint64_t kQuantum = 4096, kShortTurn = 64;  // of a warp's instructions

}  // namespace

Cta::Cta(Cluster& cluster, unsigned number, unsigned rank)
    : cluster_(cluster), number_(number), rank_(rank), barriers_(kBarriers) {
  const LaunchState& launch = cluster.launch();
  const uint32_t fixed = launch.kernel.static_shared;
  shared_.resize((fixed + 1023) / 1024 * 1024 + launch.dynamic_shared);
  for (unsigned first = 0; first < launch.threads; first += kLanes) {
    warps_.push_back(std::make_unique<Warp>(*this, static_cast<int>(first / kLanes)));
  }
}

const Kernel& Cta::kernel() const { return cluster_.launch().kernel; }
LaunchState& Cta::launch() { return cluster_.launch(); }

uint64_t Cta::special(Special what, int thread) const {
  const LaunchState& launch = cluster_.launch();
  const unsigned cluster = launch.kernel.cluster;
  switch (what) {
    case Special::TidX:
      return static_cast<uint64_t>(thread);
    case Special::NtidX:
      return launch.threads;
    case Special::CtaidX:
      return number_;
    case Special::NctaidX:
      return launch.grid;
    case Special::LaneId:
      return static_cast<uint64_t>(thread % kLanes);
    case Special::WarpId:
      return static_cast<uint64_t>(thread / kLanes);
    case Special::Smid:
      return number_ % launch.sms;
    case Special::Nsmid:
      return launch.sms;
    case Special::ClusterCtaRank:
      return rank_;
    case Special::ClusterNctaRank:
      return cluster;
    case Special::ClusteridX:
      return number_ / cluster;
    case Special::NclusteridX:
      return launch.grid / cluster;
    case Special::Zero:
      return 0;
    case Special::One:
      return 1;
    case Special::SharedAddress:
      return shared_address(rank_, 0);
  }
  return 0;
}

bool Cta::finished() const {
  return std::all_of(warps_.begin(), warps_.end(), [](const auto& warp) { return warp->finished(); });
}

bool Cta::barrier(Warp& warp, const Instruction& in, unsigned id, unsigned threads, bool waits) {
  if (id >= kBarriers) warp.fault(in, kAllLanes, "there is no barrier " + std::to_string(id));
  if (threads == 0) threads = static_cast<unsigned>(warps_.size()) * kLanes;
  if (threads % kLanes != 0) warp.fault(in, kAllLanes, "a barrier of " + std::to_string(threads) + " threads");
  Barrier& barrier = barriers_[id];
  const std::string name = "barrier " + std::to_string(id);
  if (barrier.arrived > 0 && barrier.expected != threads) {
    warp.fault(in, kAllLanes,
               name + " is waited for by " + std::to_string(threads) + " threads here and by " +
                   std::to_string(barrier.expected) + " elsewhere");
  }
  if (std::find(barrier.waiting.begin(), barrier.waiting.end(), &warp) != barrier.waiting.end()) {
    warp.fault(in, kAllLanes, "the warp waits at " + name + " already");
  }
  warp.time.release(barrier.clock);
  barrier.expected = threads;
  barrier.arrived += kLanes;
  if (barrier.arrived > barrier.expected) warp.fault(in, kAllLanes, "too many threads come to " + name);
  if (barrier.arrived < barrier.expected) {
    if (waits) barrier.waiting.push_back(&warp);
    return !waits;
  }
  for (Warp* other : barrier.waiting) {
    other->time.acquire(barrier.clock);
    other->release_past(other->alive());
  }
  if (waits) warp.time.acquire(barrier.clock);
  barrier = {};
  return true;
}

bool Cta::warpgroup_meets(Warp& warp, uint32_t mask) {
  const int first = warp.index() / kWarpgroupWarps * kWarpgroupWarps;
  for (int i = first; i < first + kWarpgroupWarps; ++i) {
    if (i == warp.index()) continue;
    const bool there = static_cast<size_t>(i) < warps_.size() &&
                       warps_[static_cast<size_t>(i)]->paused_at(warp.place(), Pause::Warpgroup) == kAllLanes;
    if (!there) {
      warp.pause(mask, Pause::Warpgroup);
      return false;
    }
  }
  return true;
}

void Cta::release_warpgroup(Warp& but) {
  const int first = but.index() / kWarpgroupWarps * kWarpgroupWarps;
  for (int i = first; i < first + kWarpgroupWarps; ++i) {
    if (i != but.index()) warps_[static_cast<size_t>(i)]->release_past(kAllLanes);
  }
}

Cluster::Cluster(LaunchState& launch, unsigned number) : launch_(launch), number_(number) {
  if (const char* seed = std::getenv("CODA_EMULATED_SEED")) {
    random_.emplace(static_cast<unsigned>(std::atoi(seed)) + 1000003 * number);
  }
  for (unsigned rank = 0; rank < launch.kernel.cluster; ++rank) {
    ctas_.push_back(std::make_unique<Cta>(*this, number * launch.kernel.cluster + rank, rank));
  }
}

void Cluster::land(size_t copy) {
  const std::function<void()> lands = std::move(copies_[copy]);
  copies_.erase(copies_.begin() + static_cast<std::ptrdiff_t>(copy));
  lands();
}

void Cluster::run() {
  std::vector<Warp*> order;
  for (const auto& cta : ctas_) {
    for (const auto& warp : cta->warps()) order.push_back(warp.get());
  }
  for (;;) {
    if (random_) std::shuffle(order.begin(), order.end(), *random_);
    bool ran = false, all_finished = true;
    for (Warp* warp : order) {
      all_finished &= warp->finished();
      if (!warp->runnable()) continue;
      warp->run(random_ ? 1 + (*random_)() % kShortTurn : kQuantum);
      ran = true;
    }
    const bool lands_early = random_ && !copies_.empty() && (*random_)() % 4 == 0;
    if (ran && !lands_early) continue;
    if (all_finished) break;
    if (copies_.empty()) deadlock();
    land(random_ ? (*random_)() % copies_.size() : 0);
  }
  if (!copies_.empty()) {
    throw Fault("kernel " + launch_.kernel.name + ", CTA " + std::to_string(ctas_[0]->number()) + ": it ends with " +
                std::to_string(copies_.size()) + " bulk copies in flight");
  }
}

void Cluster::wake() {
  for (const auto& cta : ctas_) {
    for (const auto& warp : cta->warps()) warp->wake_polling();
  }
}

void Cluster::count(uint64_t instructions) {
  launch_.instructions += instructions;
  if (launch_.instructions > launch_.most_instructions) {
    throw Fault("kernel " + launch_.kernel.name + " runs longer than " + std::to_string(launch_.most_instructions) +
                " instructions");
  }
}

void Cluster::cluster_arrive(unsigned threads) {
  cluster_arrived_ += threads;
  advance_cluster_barrier();
}

void Cluster::thread_exits(unsigned threads) {
  exited_ += threads;
  advance_cluster_barrier();
}

void Cluster::advance_cluster_barrier() {
  if (cluster_arrived_ == 0 || cluster_arrived_ + exited_ < launch_.threads * size()) return;
  cluster_arrived_ = 0;
  ++cluster_phase_;
  wake();
}

void Cluster::deadlock() {
  std::string text = "kernel " + launch_.kernel.name + ": no thread can go on";
  for (const auto& cta : ctas_) {
    for (const auto& warp : cta->warps()) text += warp->where();
    text += cta->shared().barriers_text();
  }
  throw Fault(text);
}

}  // namespace coda::ptx
