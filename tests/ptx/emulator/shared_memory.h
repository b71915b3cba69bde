// A CTA's shared memory: its bytes, what is known of each, the mbarriers in it, and what is being read by
// multiplications in flight.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/ptx/emulator/races.h"

namespace coda::ptx {

struct MBarrier {
  uint32_t arrivals = 0;  ///< of a phase
  uint32_t pending = 0;
  int64_t bytes = 0;  ///< expected less those that have come
  uint32_t phase = 0;
  Clock clock;  ///< what those know who have waited for it
};

class SharedMemory {
 public:
  /// Of a byte.
  enum State : uint8_t {
    Undefined = 0,
    Written = 1,
    Generic = 2,   ///< by a store that no fence.proxy.async has followed
    InFlight = 4,  ///< a bulk copy will write it
    Barrier = 8    ///< part of an mbarrier
  };

  void resize(uint32_t bytes);
  uint32_t size() const { return static_cast<uint32_t>(bytes_.size()); }
  uint8_t* data() { return bytes_.data(); }

  AccessRecord& accesses() { return accesses_; }
  const AccessRecord& accesses() const { return accesses_; }

  /// Each gives what is wrong, or null.
  const char* check_read(uint32_t offset, uint32_t bytes) const;
  /// By the async proxy. It may read what was never written: kernels multiply whole tiles, and drop what lies beyond a
  /// tensor. Such bytes are NaN in every type, so that a result shows what was not dropped.
  const char* check_async_read(uint32_t offset, uint32_t bytes) const;
  const char* check_write(uint32_t offset, uint32_t bytes) const;
  void written(uint32_t offset, uint32_t bytes) { mark(offset, bytes, Written | Generic); }
  void undefine(uint32_t offset, uint32_t bytes) { mark(offset, bytes, Undefined); }
  void fenced(uint32_t offset, uint32_t bytes);
  void copy_starts(uint32_t offset, uint32_t bytes) { mark(offset, bytes, InFlight); }
  void copy_lands(uint32_t offset, uint32_t bytes) { mark(offset, bytes, Written); }

  /// Memory that a multiplication in flight reads: a number to end it by.
  uint64_t begin_reading(uint32_t offset, uint32_t bytes);
  /// By a warp that has waited; with the first of its warpgroup the memory is free.
  void end_reading(uint64_t number, const Timeline& by);

  /// Null where there is none.
  MBarrier* barrier(uint32_t offset);
  const char* init_barrier(uint32_t offset, uint32_t arrivals);
  /// One or more arrivals and bytes that are expected (or, negative, that have come). `completed` says whether a phase
  /// ended.
  const char* arrive(uint32_t offset, uint32_t arrivals, int64_t bytes, bool& completed);
  std::string barriers_text() const;

 private:
  void mark(uint32_t offset, uint32_t bytes, int state);
  bool being_read(uint32_t offset, uint32_t bytes) const;

  std::vector<uint8_t> bytes_, states_;
  std::map<uint32_t, MBarrier> barriers_;
  struct Reading {
    uint32_t begin, end;
    bool over;
    int warps;  ///< that have not yet waited
  };
  std::map<uint64_t, Reading> reading_;
  AccessRecord accesses_;
  uint64_t next_reading_ = 1;
};

}  // namespace coda::ptx
