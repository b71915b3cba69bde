// A warp: 32 threads, each with its place in the code, run together where their places agree. Of lanes that may go on,
// those at the lowest place run first, so that they meet again where ways join.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/ptx/emulator/code.h"
#include "tests/ptx/emulator/races.h"

namespace coda::ptx {

class Cta;

/// Why lanes don't go on.
enum class Pause : uint8_t {
  None,
  Meeting,    ///< for lanes of their warp
  Warpgroup,  ///< for warps of their warpgroup
  Barrier,    ///< for a barrier of the CTA
  Polling     ///< until something happens in the cluster; then the instruction runs again
};

class Warp {
 public:
  Warp(Cta& cta, int index);

  /// Runs until no lane can go on, or about `most` instructions.
  void run(uint64_t most);
  bool runnable() const { return (alive_ & ~paused_) != 0; }
  bool finished() const { return alive_ == 0; }
  uint32_t alive() const { return alive_; }
  void wake_polling();

  // For handlers.
  template <class T>
  T* lanes(Operand o) {
    return reinterpret_cast<T*>(registers_ + o.offset);
  }
  uint32_t& predicate(Operand o) { return *reinterpret_cast<uint32_t*>(registers_ + o.offset); }
  uint32_t& defined(Operand o) { return defined_[o.id]; }
  /// Of sources with the given masks: what becomes of the destination's; looks for values of multiplications in flight.
  void flow(const Instruction& in, Operand to, uint32_t sources, uint32_t mask, int first_source, int count);
  /// Faults unless the register's value is known in all those lanes.
  void need(const Instruction& in, Operand o, uint32_t mask, const char* what);
  [[noreturn]] void fault(const Instruction& in, uint32_t mask, const std::string& what) const;

  Cta& cta() { return cta_; }
  const Kernel& kernel() const { return kernel_; }
  int index() const { return index_; }
  int thread(int lane) const { return index_ * kLanes + lane; }

  /// True once all lanes of `with` that live stand at the instruction being run; `mask` is then all of them. Else those
  /// of `mask` wait for the others.
  bool meet(uint32_t& mask, uint32_t with, Pause why = Pause::Meeting);
  void pause(uint32_t mask, Pause why);
  /// Lets lanes go on behind the instruction at which they wait.
  void release_past(uint32_t mask);
  uint32_t place() const { return pc_; }  ///< of the instruction being run
  uint32_t running() const { return mask_; }
  /// Where the lanes of `mask` are to go on; the others of those that run, behind the instruction.
  void jump(uint32_t mask, uint32_t target);
  void exit(uint32_t mask);
  uint32_t paused_at(uint32_t place, Pause why) const;
  /// "lanes 0-31 at PTX line 12 (bar.sync)"
  std::string where() const;

  /// Registers that multiplications in flight will write, by group.
  struct Flight {
    uint32_t list, size;
    std::vector<uint32_t> defined;  ///< what the registers' masks become
    uint64_t reads;                 ///< number of the shared memory it reads, in Cta
  };
  std::vector<Flight> uncommitted;
  std::vector<std::vector<Flight>> groups;
  Timeline time;
  bool matrix_fence = false;  ///< wgmma.fence was executed since the last wait
  /// Shared memory written by generic stores since this warp's last fence.proxy.async: offset, bytes.
  std::vector<std::pair<uint32_t, uint32_t>> unfenced;
  std::array<uint32_t, kLanes> cluster_arrivals{};  ///< per lane: phases arrived at
  std::vector<uint8_t> local, local_defined;

 private:
  void select();
  void settle();  ///< writes the running lanes' places down
  void trace(const Instruction& in, uint32_t mask) const;
  void check_flight(const Instruction& in, uint32_t mask, Operand source) const;

  Cta& cta_;
  const Kernel& kernel_;
  int index_;
  std::unique_ptr<uint8_t[]> memory_;
  uint8_t* registers_ = nullptr;
  std::vector<uint32_t> defined_;
  std::array<uint32_t, kLanes> places_{};
  std::array<Pause, kLanes> pauses_{};
  uint32_t alive_ = kAllLanes, paused_ = 0;
  int trace_first_ = 0, trace_last_ = -1;  ///< lines of PTX: $CODA_EMULATED_TRACE=FIRST:LAST prints what they make
  uint32_t mask_ = 0, pc_ = 0, next_other_ = ~0u;
};

}  // namespace coda::ptx
