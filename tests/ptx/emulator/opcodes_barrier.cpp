// Barriers: of the CTA, of the cluster, and mbarriers.
#include <bit>

#include "tests/ptx/emulator/access.h"
#include "tests/ptx/emulator/addresses.h"
#include "tests/ptx/emulator/cluster.h"
#include "tests/ptx/emulator/lane_map.h"
#include "tests/ptx/emulator/opcodes.h"

namespace coda::ptx {
namespace {

/// The value that all lanes of the mask have.
uint32_t uniform(Warp& w, const Instruction& in, Operand o, uint32_t mask, const char* what) {
  w.need(in, o, mask, what);
  const uint32_t first = w.lanes<uint32_t>(o)[std::countr_zero(mask)];
  for (int lane = 0; lane < kLanes; ++lane) {
    if ((mask >> lane & 1) && w.lanes<uint32_t>(o)[lane] != first)
      w.fault(in, mask, std::string(what) + " differs among lanes");
  }
  return first;
}

enum class Part { Sync, Arrive };
template <Part kPart>
Outcome cta_barrier(Warp& w, const Instruction& in, uint32_t mask) {
  if (!w.meet(mask, kAllLanes)) return Outcome::Jumped;
  const uint32_t id = uniform(w, in, in.at[0], mask, "the barrier");
  const uint32_t threads = in.variant ? uniform(w, in, in.at[1], mask, "the number of threads") : 0;
  if (w.cta().barrier(w, in, id, threads, kPart == Part::Sync)) return Outcome::Next;
  w.pause(mask, Pause::Barrier);
  return Outcome::Jumped;
}

template <Part kPart>
void decode_cta_barrier(Decoder& d, const Statement& s, Instruction& in) {
  if (s.arguments.empty() || s.arguments.size() > 2) d.fail("the number of operands");
  for (size_t i = 0; i < s.arguments.size(); ++i) in.at[i] = d.value(s.arguments[i], 4);
  in.variant = s.arguments.size() == 2;
  in.run = cta_barrier<kPart>;
}

Outcome cluster_arrive(Warp& w, const Instruction& in, uint32_t mask) {
  Cluster& cluster = w.cta().cluster();
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    uint32_t& arrivals = w.cluster_arrivals[static_cast<size_t>(std::countr_zero(rest))];
    if (arrivals > cluster.cluster_phase()) w.fault(in, mask, "arrives twice at the cluster's barrier");
    ++arrivals;
  }
  w.time.release(cluster.cluster_clock());
  cluster.cluster_arrive(static_cast<unsigned>(std::popcount(mask)));
  return Outcome::Next;
}
Outcome cluster_wait(Warp& w, const Instruction&, uint32_t mask) {
  uint32_t late = 0;
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    if (w.cluster_arrivals[static_cast<size_t>(lane)] > w.cta().cluster().cluster_phase()) late |= 1u << lane;
  }
  if (late != mask) w.time.acquire(w.cta().cluster().cluster_clock());
  if (late == 0) return Outcome::Next;
  w.pause(late, Pause::Polling);
  return Outcome::Jumped;
}

MemoryPlace barrier_place(Warp& w, const Instruction& in, int lane) {
  return find_place(w, in, lane, static_cast<Space>(in.space), lane_address(w, in, lane), 8);
}

Outcome init(Warp& w, const Instruction& in, uint32_t mask) {
  w.need(in, in.at[0], mask, "the address");
  w.need(in, in.at[1], mask, "the count");
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const MemoryPlace place = barrier_place(w, in, lane);
    const char* wrong =
        place.cta->shared().init_barrier(static_cast<uint32_t>(place.offset), w.lanes<uint32_t>(in.at[1])[lane]);
    if (wrong) w.fault(in, 1u << lane, wrong);
  }
  return Outcome::Next;
}

/// mbarrier.arrive with a count or, if `detail`, with expected bytes and a count of 1.
Outcome arrive(Warp& w, const Instruction& in, uint32_t mask) {
  w.need(in, in.at[0], mask, "the address");
  if (in.variant) w.need(in, in.at[1], mask, "the count");
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const MemoryPlace place = barrier_place(w, in, lane);
    const uint32_t number = in.variant ? w.lanes<uint32_t>(in.at[1])[lane] : 1;
    bool completed = false;
    if (MBarrier* barrier = place.cta->shared().barrier(static_cast<uint32_t>(place.offset))) {
      w.time.release(barrier->clock);
    }
    const char* wrong = place.cta->shared().arrive(static_cast<uint32_t>(place.offset), in.detail ? 1 : number,
                                                   in.detail ? number : 0, completed);
    if (wrong) w.fault(in, 1u << lane, std::string(wrong) + ", at " + std::to_string(place.offset));
    if (completed) w.cta().cluster().wake();
  }
  if (in.at[2].id != kNoRegister) {  // the state before: nobody may look into it
    w.flow(in, in.at[2], 0, mask, 0, 0);
  }
  return Outcome::Next;
}

Outcome wait_parity(Warp& w, const Instruction& in, uint32_t mask) {
  w.need(in, in.at[0], mask, "the address");
  w.need(in, in.at[1], mask, "the parity");
  uint32_t done = 0;
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const MemoryPlace place = barrier_place(w, in, lane);
    const MBarrier* barrier = place.cta->shared().barrier(static_cast<uint32_t>(place.offset));
    if (!barrier) w.fault(in, 1u << lane, "there is no mbarrier at " + std::to_string(place.offset));
    const uint32_t parity = w.lanes<uint32_t>(in.at[1])[lane];
    if (parity > 1) w.fault(in, 1u << lane, "a parity is 0 or 1");
    if ((barrier->phase & 1) == parity) continue;
    done |= 1u << lane;
    w.time.acquire(barrier->clock);
  }
  const bool tests = in.variant;
  w.flow(in, in.at[2], kAllLanes, tests ? mask : done, 0, 0);
  uint32_t& to = w.predicate(in.at[2]);
  to = (to & ~mask) | done;
  if (tests || done == mask) return Outcome::Next;
  w.pause(mask & ~done, Pause::Polling);
  return Outcome::Jumped;
}

void decode_mbarrier(Decoder& d, const Statement& s, Instruction& in) {
  const auto has = [&](const char* part) { return s.name.find(part) != std::string::npos; };
  in.space = static_cast<uint8_t>(has("shared::cluster") ? Space::SharedCluster
                                  : has(".shared")       ? Space::Shared
                                                         : Space::Generic);
  in.at[2].id = kNoRegister;
  const std::vector<Argument>& a = s.arguments;
  if (has("mbarrier.init")) {
    if (a.size() != 2) d.fail("it has two operands");
    d.address(a[0], in);
    in.at[1] = d.value(a[1], 4);
    in.run = init;
  } else if (has("mbarrier.arrive")) {
    if (a.empty()) d.fail("the number of operands");
    const size_t first = a[0].kind == Argument::Kind::Address ? 0 : 1;
    if (a.size() < first + 1 || a.size() > first + 2) d.fail("the number of operands");
    d.address(a[first], in);
    if (first == 1) in.at[2] = d.value(a[0], 8);
    in.variant = a.size() == first + 2;
    if (in.variant) in.at[1] = d.value(a[first + 1], 4);
    in.detail = has(".expect_tx");
    in.run = arrive;
  } else if (has("wait.parity")) {
    if (a.size() < 3) d.fail("the number of operands");
    d.address(a[1], in);
    in.at[1] = d.value(a[2], 4);
    in.at[2] = d.value(a[0], 0);
    in.variant = has("test_wait");
    in.run = wait_parity;
  } else {
    d.fail("the emulator does not know this instruction");
  }
}

/// The address of the same place in another CTA of the cluster.
template <class T>
Outcome map_address(Warp& w, const Instruction& in, uint32_t mask) {
  const T* address = w.lanes<T>(in.at[1]);
  const uint32_t* rank = w.lanes<uint32_t>(in.at[2]);
  T result[kLanes] = {};
  for (int i = 0; i < kLanes; ++i) {
    result[i] = (address[i] & ((1u << kRankShift) - 1)) | static_cast<T>(rank[i]) << kRankShift;
    if ((mask >> i & 1) && (w.defined(in.at[2]) >> i & 1) && rank[i] >= w.cta().cluster().size()) {
      w.fault(in, 1u << i, "the cluster has no CTA " + std::to_string(rank[i]));
    }
  }
  w.flow(in, in.at[0], w.defined(in.at[1]) & w.defined(in.at[2]), mask, 1, 2);
  keep(w.lanes<T>(in.at[0]), result, mask);
  return Outcome::Next;
}

constexpr Opcode kOpcodes[] = {
    {"barrier.cluster.arrive", "", cluster_arrive},
    {"barrier.cluster.arrive.aligned", "", cluster_arrive},
    {"barrier.cluster.arrive.release", "", cluster_arrive},
    {"barrier.cluster.arrive.relaxed", "", cluster_arrive},
    {"barrier.cluster.wait", "", cluster_wait},
    {"barrier.cluster.wait.aligned", "", cluster_wait},
    {"barrier.cluster.wait.acquire", "", cluster_wait},
    {"mapa.shared::cluster.u64", "ddw", map_address<uint64_t>},
    {"mapa.shared::cluster.u32", "www", map_address<uint32_t>},
};
constexpr OpcodeFamily kFamilies[] = {{"bar.sync", decode_cta_barrier<Part::Sync>},
                                      {"barrier.sync", decode_cta_barrier<Part::Sync>},
                                      {"barrier.cta.sync", decode_cta_barrier<Part::Sync>},
                                      {"bar.arrive", decode_cta_barrier<Part::Arrive>},
                                      {"barrier.cta.arrive", decode_cta_barrier<Part::Arrive>},
                                      {"mbarrier.", decode_mbarrier}};

}  // namespace

OpcodeTable barrier_opcodes() { return {kOpcodes, kFamilies}; }

}  // namespace coda::ptx
