// A lane's access to memory in any space, with what is to be checked of it.
#pragma once

#include <cstdint>

#include "tests/ptx/emulator/code.h"

namespace coda::ptx {

class Warp;
class Cta;

/// Where an address leads.
struct MemoryPlace {
  Space space = Space::Global;
  Cta* cta = nullptr;   ///< of shared memory
  uint64_t offset = 0;  ///< in its space; of global memory the address
};

/// Address of a lane: its base register and the offset.
uint64_t lane_address(Warp& warp, const Instruction& in, int lane);
/// Faults where the address leads nowhere in the space.
MemoryPlace find_place(Warp& warp, const Instruction& in, int lane, Space space, uint64_t address, uint32_t bytes);

/// Reads or writes whole bytes; reading says whether they are defined.
bool read_memory(Warp& warp, const Instruction& in, int lane, const MemoryPlace& place, void* to, uint32_t bytes);
void write_memory(Warp& warp, const Instruction& in, int lane, const MemoryPlace& place, const void* from,
                  uint32_t bytes, bool defined);

}  // namespace coda::ptx
