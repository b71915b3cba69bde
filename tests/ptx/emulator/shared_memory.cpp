#include "tests/ptx/emulator/shared_memory.h"

#include <algorithm>
#include <cstring>

namespace coda::ptx {
namespace {

constexpr uint32_t kBarrierBytes = 8, kMostArrivals = (1u << 20) - 1;
constexpr int64_t kMostBytes = (1 << 20) - 1;
constexpr int kWarpgroup = 4;
constexpr const char* kInFlight =
    "reads shared memory that a bulk copy in flight writes: its mbarrier was not waited for";

}  // namespace

void SharedMemory::resize(uint32_t bytes) {
  bytes_.assign(bytes, 0xFF);
  states_.assign(bytes, Undefined);
  accesses_.resize(bytes);
}

void SharedMemory::mark(uint32_t offset, uint32_t bytes, int state) { std::memset(&states_[offset], state, bytes); }

const char* SharedMemory::check_read(uint32_t offset, uint32_t bytes) const {
  for (uint32_t i = offset; i < offset + bytes; ++i) {
    if (states_[i] == Written || states_[i] == (Written | Generic)) continue;
    if (states_[i] & InFlight) return kInFlight;
    return states_[i] & Barrier ? "reads an mbarrier as memory" : "reads shared memory that was never written";
  }
  return nullptr;
}

const char* SharedMemory::check_async_read(uint32_t offset, uint32_t bytes) const {
  for (uint32_t i = offset; i < offset + bytes; ++i) {
    if (states_[i] == Written || states_[i] == Undefined) continue;
    if (states_[i] & InFlight) return kInFlight;
    return states_[i] & Barrier ? "reads an mbarrier as memory"
                                : "reads, as the async proxy, what was stored without a fence.proxy.async";
  }
  return nullptr;
}

bool SharedMemory::being_read(uint32_t offset, uint32_t bytes) const {
  return std::any_of(reading_.begin(), reading_.end(), [&](const auto& entry) {
    const Reading& reading = entry.second;
    return !reading.over && offset < reading.end && reading.begin < offset + bytes;
  });
}

const char* SharedMemory::check_write(uint32_t offset, uint32_t bytes) const {
  if (being_read(offset, bytes)) return "writes shared memory that a wgmma in flight reads";
  for (uint32_t i = offset; i < offset + bytes; ++i) {
    if (states_[i] & InFlight) return "writes shared memory that a bulk copy in flight writes";
    if (states_[i] & Barrier) return "writes an mbarrier as memory";
  }
  return nullptr;
}

void SharedMemory::fenced(uint32_t offset, uint32_t bytes) {
  for (uint32_t i = offset; i < offset + bytes; ++i) states_[i] &= static_cast<uint8_t>(~Generic);
}

uint64_t SharedMemory::begin_reading(uint32_t offset, uint32_t bytes) {
  reading_[next_reading_] = {offset, offset + bytes, false, kWarpgroup};
  return next_reading_++;
}

void SharedMemory::end_reading(uint64_t number, const Timeline& by) {
  const auto it = reading_.find(number);
  it->second.over = true;
  accesses_.finish_matrix_read(it->second.begin, it->second.end, by);
  if (--it->second.warps == 0) reading_.erase(it);
}

MBarrier* SharedMemory::barrier(uint32_t offset) {
  const auto it = barriers_.find(offset);
  return it == barriers_.end() ? nullptr : &it->second;
}

const char* SharedMemory::init_barrier(uint32_t offset, uint32_t arrivals) {
  if (arrivals == 0 || arrivals > kMostArrivals) return "an mbarrier of that many arrivals";
  if (barrier(offset)) return "there is an mbarrier already";
  if (const char* wrong = check_write(offset, kBarrierBytes)) return wrong;
  mark(offset, kBarrierBytes, Barrier);
  barriers_[offset] = {arrivals, arrivals, 0, 0, {}};
  return nullptr;
}

const char* SharedMemory::arrive(uint32_t offset, uint32_t arrivals, int64_t bytes, bool& completed) {
  MBarrier* barrier = this->barrier(offset);
  completed = false;
  if (!barrier) return "there is no mbarrier at that address";
  if (barrier->pending < arrivals) return "more arrivals at an mbarrier than its phase expects";
  barrier->pending -= arrivals;
  barrier->bytes += bytes;
  if (barrier->bytes > kMostBytes || barrier->bytes < -kMostBytes) return "the bytes of an mbarrier's phase overflow";
  if (barrier->pending > 0 || barrier->bytes > 0) return nullptr;
  if (barrier->bytes < 0) return "more bytes come to an mbarrier than its phase expects";
  completed = true;
  ++barrier->phase;
  barrier->pending = barrier->arrivals;
  return nullptr;
}

std::string SharedMemory::barriers_text() const {
  std::string text;
  for (const auto& [offset, barrier] : barriers_) {
    text += "\n  mbarrier at " + std::to_string(offset) + ": phase " + std::to_string(barrier.phase) + ", waits for " +
            std::to_string(barrier.pending) + " of " + std::to_string(barrier.arrivals) + " arrivals and " +
            std::to_string(barrier.bytes) + " bytes";
  }
  return text;
}

}  // namespace coda::ptx
