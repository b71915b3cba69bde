#include "tests/ptx/emulator/access.h"

#include <cstring>

#include "tests/ptx/emulator/addresses.h"
#include "tests/ptx/emulator/cluster.h"
#include "tests/ptx/emulator/global_memory.h"
#include "tests/ptx/emulator/warp.h"

namespace coda::ptx {

uint64_t lane_address(Warp& warp, const Instruction& in, int lane) {
  const uint64_t base =
      in.address_bytes == 4 ? warp.lanes<uint32_t>(in.at[0])[lane] : warp.lanes<uint64_t>(in.at[0])[lane];
  return base + static_cast<uint64_t>(in.offset);
}

MemoryPlace find_place(Warp& warp, const Instruction& in, int lane, Space space, uint64_t address, uint32_t bytes) {
  const uint32_t mask = 1u << lane;
  if (address % bytes != 0) {
    warp.fault(in, mask,
               "the address " + std::to_string(address) + " of " + std::to_string(bytes) + " bytes is misaligned");
  }
  if (space == Space::Generic) {
    space = Space::Global;
    for (const auto& [window, its] :
         {std::pair{kLocalWindow, Space::Local}, {kParamWindow, Space::Param}, {kSharedWindow, Space::SharedCluster}}) {
      if (address < window) continue;
      space = its;
      address -= window;
      break;
    }
  }
  MemoryPlace place{space, &warp.cta(), address};
  switch (space) {
    case Space::Shared:
    case Space::SharedCluster: {
      const unsigned rank = static_cast<unsigned>(address >> kRankShift);
      const uint64_t in_cta = address & ((1u << kRankShift) - 1);
      if (rank >= warp.cta().cluster().size()) warp.fault(in, mask, "no CTA of the cluster has that shared address");
      place.cta = &warp.cta().cluster().cta(rank);
      if (space == Space::Shared && place.cta != &warp.cta()) {
        warp.fault(in, mask, "the shared memory of another CTA where only one's own can be meant");
      }
      if (place.cta != &warp.cta() && place.cta->finished()) {
        warp.fault(in, mask, "the shared memory of a CTA that has ended");
      }
      place.offset = in_cta - kSharedStart;
      if (in_cta < kSharedStart || place.offset + bytes > place.cta->shared().size()) {
        warp.fault(in, mask,
                   "is outside of shared memory, at " + std::to_string(static_cast<int64_t>(in_cta) - kSharedStart) +
                       " of " + std::to_string(place.cta->shared().size()) + " bytes");
      }
      break;
    }
    case Space::Param:
      if (address + bytes > warp.cta().launch().parameters.size()) warp.fault(in, mask, "is outside of the parameters");
      break;
    case Space::Local:
      if (address + bytes > warp.kernel().local_bytes) warp.fault(in, mask, "is outside of local memory");
      place.offset = static_cast<uint64_t>(lane) * warp.kernel().local_bytes + address;
      break;
    default:
      break;
  }
  return place;
}

bool read_memory(Warp& warp, const Instruction& in, int lane, const MemoryPlace& place, void* to, uint32_t bytes) {
  const uint32_t mask = 1u << lane;
  switch (place.space) {
    case Space::Shared:
    case Space::SharedCluster: {
      SharedMemory& shared = place.cta->shared();
      const auto offset = static_cast<uint32_t>(place.offset);
      const char* wrong = shared.check_read(offset, bytes);
      if (!wrong) wrong = shared.accesses().read(offset, bytes, warp.time);
      if (wrong) warp.fault(in, mask, std::string(wrong) + ", at " + std::to_string(offset));
      std::memcpy(to, shared.data() + offset, bytes);
      return true;
    }
    case Space::Param:
      std::memcpy(to, &warp.cta().launch().parameters[place.offset], bytes);
      return true;
    case Space::Local: {
      std::memcpy(to, &warp.local[place.offset], bytes);
      for (uint32_t i = 0; i < bytes; ++i) {
        if (!warp.local_defined[place.offset + i]) return false;
      }
      return true;
    }
    default: {
      bool defined = true;
      const std::string wrong = warp.cta().launch().global.check_read(place.offset, bytes, defined);
      if (!wrong.empty()) warp.fault(in, mask, wrong);
      std::memcpy(to, reinterpret_cast<const void*>(place.offset), bytes);
      return defined;
    }
  }
}

void write_memory(Warp& warp, const Instruction& in, int lane, const MemoryPlace& place, const void* from,
                  uint32_t bytes, bool defined) {
  const uint32_t mask = 1u << lane;
  switch (place.space) {
    case Space::Shared:
    case Space::SharedCluster: {
      SharedMemory& shared = place.cta->shared();
      const auto offset = static_cast<uint32_t>(place.offset);
      const char* wrong = shared.check_write(offset, bytes);
      if (!wrong) wrong = shared.accesses().write(offset, bytes, warp.time);
      if (wrong) warp.fault(in, mask, std::string(wrong) + ", at " + std::to_string(offset));
      std::memcpy(shared.data() + offset, from, bytes);
      if (!defined) return shared.undefine(offset, bytes);
      shared.written(offset, bytes);
      if (place.cta == &warp.cta()) warp.unfenced.emplace_back(offset, bytes);
      return;
    }
    case Space::Param:
      warp.fault(in, mask, "writes a parameter");
    case Space::Local:
      std::memcpy(&warp.local[place.offset], from, bytes);
      std::memset(&warp.local_defined[place.offset], defined, bytes);
      return;
    default: {
      const std::string wrong = warp.cta().launch().global.check_write(place.offset, bytes, defined);
      if (!wrong.empty()) warp.fault(in, mask, wrong);
      std::memcpy(reinterpret_cast<void*>(place.offset), from, bytes);
    }
  }
}

}  // namespace coda::ptx
