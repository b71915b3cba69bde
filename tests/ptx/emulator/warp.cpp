#include "tests/ptx/emulator/warp.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/ptx/emulator/cluster.h"
#include "tests/ptx/emulator/fault.h"

namespace coda::ptx {
namespace {

constexpr const char* kWaits[] = {"", "for lanes of its warp", "for warps of its warpgroup", "for a barrier",
                                  "for something to happen"};

std::string lanes_text(uint32_t mask) {
  std::string text;
  for (int first = 0; first < kLanes; ++first) {
    if (!(mask >> first & 1)) continue;
    int last = first;
    while (last + 1 < kLanes && (mask >> (last + 1) & 1)) ++last;
    text += (text.empty() ? "" : ",") + std::to_string(first);
    if (last > first) text += "-" + std::to_string(last);
    first = last;
  }
  return text;
}

}  // namespace

Warp::Warp(Cta& cta, int index) : cta_(cta), kernel_(cta.kernel()), index_(index), defined_(kernel_.registers) {
  constexpr size_t kAlignment = 64;
  memory_.reset(new uint8_t[kernel_.register_bytes + 2 * kAlignment]);
  registers_ = memory_.get() + (kAlignment - reinterpret_cast<uintptr_t>(memory_.get()) % kAlignment);
  const auto fill = [&](const RegisterPlace& place, auto&& of_lane) {
    defined_[place.operand.id] = kAllLanes;
    for (int lane = 0; lane < kLanes; ++lane) {
      const uint64_t value = of_lane(lane);
      std::memcpy(registers_ + place.operand.offset + lane * place.bytes, &value, static_cast<size_t>(place.bytes));
    }
  };
  for (const Constant& constant : kernel_.constants) fill(constant.place, [&](int) { return constant.value; });
  for (const SpecialPlace& special : kernel_.specials) {
    fill(special.place, [&](int lane) { return cta.special(special.what, thread(lane)) + special.addend; });
  }
  const int threads = static_cast<int>(cta.launch().threads) - index * kLanes;
  if (threads < kLanes) alive_ = (1u << threads) - 1;
  const size_t warps = (cta.launch().threads + kLanes - 1) / kLanes * kernel_.cluster;
  time.clock.resize(warps + 1);
  time.own = cta.rank() * static_cast<uint32_t>(warps / kernel_.cluster) + static_cast<uint32_t>(index);
  time.clock[time.own] = 1;
  if (const char* lines = std::getenv("CODA_EMULATED_TRACE")) std::sscanf(lines, "%d:%d", &trace_first_, &trace_last_);
  local.resize(kernel_.local_bytes * kLanes);
  local_defined.resize(local.size());
}

void Warp::run(uint64_t most) {
  select();
  const uint64_t start = most;
  while (mask_ != 0 && most-- > 0) {
    const Instruction& in = kernel_.code[pc_];
    uint32_t mask = mask_;
    if (in.guarded) {
      if ((defined_[in.guard.id] & mask) != mask) need(in, in.guard, mask, "the condition");
      const uint32_t condition = predicate(in.guard);
      mask &= in.negated ? ~condition : condition;
      if (mask == 0) {
        if (++pc_ >= next_other_) {
          settle();
          select();
        }
        continue;
      }
    }
    const bool traced = in.line >= trace_first_ && in.line <= trace_last_;
    const Outcome outcome = in.run(*this, in, mask);
    if (traced) trace(in, mask);
    if (outcome == Outcome::Next) {
      if (++pc_ >= next_other_) {
        settle();
        select();
      }
    } else {
      select();
    }
  }
  settle();
  cta_.cluster().count(start - most);
}

void Warp::select() {
  mask_ = 0;
  pc_ = next_other_ = ~0u;
  const uint32_t able = alive_ & ~paused_;
  for (uint32_t rest = able; rest; rest &= rest - 1) {
    const uint32_t place = places_[static_cast<size_t>(std::countr_zero(rest))];
    if (place < pc_) {
      next_other_ = pc_;
      pc_ = place;
    } else if (place > pc_) {
      next_other_ = std::min(next_other_, place);
    }
  }
  for (uint32_t rest = able; rest; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    if (places_[static_cast<size_t>(lane)] == pc_) mask_ |= 1u << lane;
  }
}

void Warp::settle() {
  for (uint32_t rest = mask_; rest; rest &= rest - 1) places_[static_cast<size_t>(std::countr_zero(rest))] = pc_;
}

void Warp::jump(uint32_t mask, uint32_t target) {
  for (uint32_t rest = mask_; rest; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    places_[static_cast<size_t>(lane)] = mask >> lane & 1 ? target : pc_ + 1;
  }
}

void Warp::pause(uint32_t mask, Pause why) {
  paused_ |= mask;
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    pauses_[static_cast<size_t>(lane)] = why;
    places_[static_cast<size_t>(lane)] = pc_;
  }
  for (uint32_t rest = mask_ & ~mask; rest; rest &= rest - 1) {
    places_[static_cast<size_t>(std::countr_zero(rest))] = pc_ + 1;
  }
}

uint32_t Warp::paused_at(uint32_t place, Pause why) const {
  uint32_t result = 0;
  for (uint32_t rest = paused_; rest; rest &= rest - 1) {
    const auto lane = static_cast<size_t>(std::countr_zero(rest));
    if (places_[lane] == place && pauses_[lane] == why) result |= 1u << lane;
  }
  return result;
}

bool Warp::meet(uint32_t& mask, uint32_t with, Pause why) {
  const uint32_t here = mask | paused_at(pc_, why);
  if ((with & alive_ & ~here) != 0) {
    pause(mask, why);
    return false;
  }
  const uint32_t waited = here & ~mask;
  paused_ &= ~waited;
  mask_ |= waited;
  mask = here;
  return true;
}

void Warp::release_past(uint32_t mask) {
  paused_ &= ~mask;
  for (uint32_t rest = mask; rest; rest &= rest - 1) ++places_[static_cast<size_t>(std::countr_zero(rest))];
}

void Warp::wake_polling() {
  for (uint32_t rest = paused_; rest; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    if (pauses_[static_cast<size_t>(lane)] == Pause::Polling) paused_ &= ~(1u << lane);
  }
}

void Warp::exit(uint32_t mask) {
  jump(0, 0);
  alive_ &= ~mask;
  mask_ &= ~mask;
  for (int lane = 0; lane < kLanes; ++lane) {  // perhaps nobody else is left to meet
    if (pauses_[static_cast<size_t>(lane)] == Pause::Meeting) paused_ &= ~(1u << lane);
  }
}

void Warp::flow(const Instruction& in, Operand to, uint32_t sources, uint32_t mask, int first_source, int count) {
  if ((sources & mask) != mask) {
    for (int i = 0; i < count; ++i) check_flight(in, mask, in.at[static_cast<size_t>(first_source + i)]);
  }
  if (to.id == kNoRegister) return;
  uint32_t& known = defined_[to.id];
  if ((known & mask) != mask && !(groups.empty() && uncommitted.empty())) check_flight(in, mask, to);
  known = (known & ~mask) | (sources & mask);
}

void Warp::check_flight(const Instruction& in, uint32_t mask, Operand source) const {
  const auto look = [&](const Flight& flight) {
    for (uint32_t i = 0; i < flight.size; ++i) {
      if (kernel_.lists[flight.list + i].id != source.id) continue;
      fault(in, mask,
            "register " + kernel_.register_names[source.id] +
                " is touched while a wgmma that writes it is in flight: there was no wgmma.wait_group");
    }
  };
  for (const Flight& flight : uncommitted) look(flight);
  for (const auto& group : groups) {
    for (const Flight& flight : group) look(flight);
  }
}

void Warp::need(const Instruction& in, Operand o, uint32_t mask, const char* what) {
  const uint32_t missing = mask & ~defined_[o.id];
  if (missing == 0) return;
  check_flight(in, missing, o);
  fault(in, missing, std::string(what) + ", register " + kernel_.register_names[o.id] + ", is undefined");
}

void Warp::fault(const Instruction& in, uint32_t mask, const std::string& what) const {
  const int lane = mask ? std::countr_zero(mask) : 0;
  throw Fault("PTX line " + std::to_string(in.line) + " (" + kernel_.opcodes[in.opcode] + "), kernel " + kernel_.name +
              ", CTA " + std::to_string(cta_.number()) + ", thread " + std::to_string(thread(lane)) + ": " + what);
}

void Warp::trace(const Instruction& in, uint32_t mask) const {
  std::string text = "CTA " + std::to_string(cta_.number()) + " warp " + std::to_string(index_) + " line " +
                     std::to_string(in.line) + " " + kernel_.opcodes[in.opcode] + " lanes " + lanes_text(mask) + ":";
  const int bytes = kernel_.register_bytes_of[in.at[0].id == kNoRegister ? 0 : in.at[0].id];
  for (int lane = 0; lane < kLanes && bytes > 0; ++lane) {
    uint64_t value = 0;
    std::memcpy(&value, registers_ + in.at[0].offset + lane * bytes, static_cast<size_t>(bytes));
    char digits[24];
    std::snprintf(digits, sizeof(digits), " %llx", static_cast<unsigned long long>(value));
    if (mask >> lane & 1) text += digits;
  }
  std::fprintf(stderr, "%s\n", text.c_str());
}

std::string Warp::where() const {
  std::string text;
  for (uint32_t rest = alive_; rest;) {
    const auto first = static_cast<size_t>(std::countr_zero(rest));
    uint32_t same = 0;
    for (uint32_t other = rest; other; other &= other - 1) {
      const auto lane = static_cast<size_t>(std::countr_zero(other));
      if (places_[lane] == places_[first] && pauses_[lane] == pauses_[first]) same |= 1u << lane;
    }
    const Instruction& in = kernel_.code[places_[first]];
    text += "\n  CTA " + std::to_string(cta_.number()) + " warp " + std::to_string(index_) + " lanes " +
            lanes_text(same) + " at PTX line " + std::to_string(in.line) + " (" + kernel_.opcodes[in.opcode] +
            "), waiting " + kWaits[static_cast<int>(pauses_[first])];
    rest &= ~same;
  }
  return text;
}

}  // namespace coda::ptx
