// Branches, ends, and what orders memory: here all threads see memory at once, so that fences do nothing, save that of
// the async proxy.
#include <bit>

#include "tests/ptx/emulator/cluster.h"
#include "tests/ptx/emulator/lane_map.h"
#include "tests/ptx/emulator/opcodes.h"

namespace coda::ptx {
namespace {

Outcome branch(Warp& w, const Instruction& in, uint32_t mask) {
  w.jump(mask, in.target);
  return Outcome::Jumped;
}

void decode_branch(Decoder& d, const Statement& s, Instruction& in) {
  if (s.arguments.size() != 1) d.fail("a branch has one label");
  d.branch(s.arguments[0]);
  in.run = branch;
}

Outcome exit_thread(Warp& w, const Instruction& in, uint32_t mask) {
  if (!w.uncommitted.empty() || !w.groups.empty()) w.fault(in, mask, "the thread ends with wgmma in flight");
  w.exit(mask);
  w.cta().cluster().thread_exits(static_cast<unsigned>(std::popcount(mask)));
  return Outcome::Jumped;
}

Outcome trap(Warp& w, const Instruction& in, uint32_t mask) { w.fault(in, mask, "trap"); }
Outcome nothing(Warp&, const Instruction&, uint32_t) { return Outcome::Next; }

Outcome fence_async(Warp& w, const Instruction&, uint32_t) {
  for (const auto& [offset, bytes] : w.unfenced) w.cta().shared().fenced(offset, bytes);
  w.unfenced.clear();
  return Outcome::Next;
}

/// setmaxnreg: a multiple of 8 from 24 to 256.
Outcome set_registers(Warp& w, const Instruction& in, uint32_t mask) {
  return w.meet(mask, kAllLanes) ? Outcome::Next : (static_cast<void>(in), Outcome::Jumped);
}
void decode_set_registers(Decoder& d, const Statement& s, Instruction& in) {
  if (s.arguments.size() != 1) d.fail("it has one operand");
  const int64_t count = d.integer(s.arguments[0]);
  if (count < 24 || count > 256 || count % 8 != 0) d.fail("that number of registers");
  in.run = set_registers;
}

constexpr Opcode kOpcodes[] = {
    {"ret", "", exit_thread},
    {"exit", "", exit_thread},
    {"trap", "", trap},
    {"fence.acq_rel.gpu", "", nothing},
    {"fence.acq_rel.cta", "", nothing},
    {"fence.acq_rel.cluster", "", nothing},
    {"fence.sc.gpu", "", nothing},
    {"fence.mbarrier_init.release.cluster", "", nothing},
    {"membar.gl", "", nothing},
    {"griddepcontrol.wait", "", nothing},  // kernels run one after the other
    {"griddepcontrol.launch_dependents", "", nothing},
    {"fence.proxy.async", "", fence_async},
    {"fence.proxy.async.shared::cta", "", fence_async},
    {"fence.proxy.async.shared::cluster", "", fence_async},
};
constexpr OpcodeFamily kFamilies[] = {{"bra", decode_branch}, {"setmaxnreg.", decode_set_registers}};

}  // namespace

OpcodeTable control_opcodes() { return {kOpcodes, kFamilies}; }

}  // namespace coda::ptx
