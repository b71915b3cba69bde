// cp.async.bulk.tensor: boxes of tensors from global into shared memory, also of several CTAs.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "tests/ptx/emulator/access.h"
#include "tests/ptx/emulator/addresses.h"
#include "tests/ptx/emulator/cluster.h"
#include "tests/ptx/emulator/global_memory.h"
#include "tests/ptx/emulator/lane_map.h"
#include "tests/ptx/emulator/opcodes.h"
#include "tests/runtime/fake_cuda/encoded_map.h"

namespace coda::ptx {
namespace {

using fake_cuda::EncodedMap;

constexpr uint32_t kElementBytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};  // by CUtensorMapDataType
constexpr uint32_t kChunk = 16, kLine = 128, kMapBytes = 128;

struct BoxCopy {
  EncodedMap map{};
  std::array<int64_t, 5> at{};
  std::vector<Cta*> to;
  uint32_t offset = 0, barrier = 0;  ///< in each CTA's shared memory

  uint32_t element() const { return kElementBytes[map.type]; }
  uint32_t row_bytes() const { return map.box[0] * element(); }
  uint32_t rows() const {
    uint32_t rows = 1;
    for (int i = 1; i < map.rank; ++i) rows *= map.box[i];
    return rows;
  }
  uint32_t bytes() const { return rows() * row_bytes(); }
};

/// Where the 16 bytes at an address of shared memory lie after swizzling.
uint32_t swizzled(uint32_t address, unsigned swizzle) {
  const uint32_t rows = (1u << swizzle) - 1;  // of the pattern, less one: 0, 1, 3, 7
  return address ^ ((address / kLine & rows) * kChunk);
}

std::string read_row(const BoxCopy& copy, uint32_t row, GlobalMemory& global, uint8_t* to) {
  const EncodedMap& map = copy.map;
  const uint32_t element = copy.element();
  std::memset(to, 0, copy.row_bytes());
  uint64_t address = map.address;
  uint32_t rest = row;
  for (int axis = 1; axis < map.rank; ++axis) {
    const int64_t index = copy.at[static_cast<size_t>(axis)] + rest % map.box[axis];
    rest /= map.box[axis];
    if (index < 0 || index >= static_cast<int64_t>(map.extents[axis])) return "";
    address += static_cast<uint64_t>(index) * map.strides[axis - 1];
  }
  const int64_t begin = std::max<int64_t>(copy.at[0], 0);
  const int64_t end = std::min(copy.at[0] + map.box[0], static_cast<int64_t>(map.extents[0]));
  if (begin >= end) return "";
  const auto bytes = static_cast<size_t>(end - begin) * element;
  address += static_cast<uint64_t>(begin) * element;
  bool defined = true;
  if (std::string wrong = global.check_read(address, bytes, defined); !wrong.empty()) return wrong;
  if (!defined) return "copies undefined values";
  std::memcpy(to + static_cast<size_t>(begin - copy.at[0]) * element, reinterpret_cast<const void*>(address), bytes);
  return "";
}

void land(Warp& w, const Instruction& in, uint32_t mask, const BoxCopy& copy) {
  std::vector<uint8_t> row(copy.row_bytes());
  for (uint32_t r = 0; r < copy.rows(); ++r) {
    const std::string wrong = read_row(copy, r, w.cta().launch().global, row.data());
    if (!wrong.empty()) w.fault(in, mask, wrong);
    for (Cta* cta : copy.to) {
      for (uint32_t x = 0; x < copy.row_bytes(); x += kChunk) {
        const uint32_t place = swizzled(kSharedStart + copy.offset + r * copy.row_bytes() + x, copy.map.swizzle);
        std::memcpy(cta->shared().data() + place - kSharedStart, &row[x], kChunk);
      }
    }
  }
  for (Cta* cta : copy.to) {
    const uint32_t time = w.cta().cluster().next_copy();
    const auto copies = static_cast<uint32_t>(w.time.clock.size() - 1);
    cta->shared().copy_lands(copy.offset, copy.bytes());
    cta->shared().accesses().copy_lands(copy.offset, copy.bytes(), copies, time);
    Clock landed(copies + 1);
    landed[copies] = time;
    join(cta->shared().barrier(copy.barrier)->clock, landed);
    bool completed = false;
    const char* wrong = cta->shared().arrive(copy.barrier, 0, -static_cast<int64_t>(copy.bytes()), completed);
    if (wrong) w.fault(in, mask, std::string(wrong) + ", at " + std::to_string(copy.barrier));
  }
  w.cta().cluster().wake();
}

/// Whose address register `i` of the list, or `o`, is: the base of another operand of the same instruction.
uint64_t address_of(Warp& w, const Instruction& in, Operand o, uint64_t offset, int lane) {
  Instruction other = in;
  other.at[0] = o;
  other.offset = static_cast<int64_t>(offset);
  return lane_address(w, other, lane);
}

Outcome start(Warp& w, const Instruction& in, uint32_t mask) {
  const bool multicast = in.variant;
  for (const auto& [operand, what] :
       {std::pair{in.at[0], "the destination"}, {in.at[1], "the map"}, {in.at[2], "the mbarrier"}}) {
    w.need(in, operand, mask, what);
  }
  if (multicast) w.need(in, in.at[3], mask, "the CTAs");
  for (uint32_t i = 0; i < in.list_size; ++i) w.need(in, w.kernel().lists[in.list + i], mask, "a coordinate");
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    const int lane = std::countr_zero(rest);
    const uint32_t only = 1u << lane;
    BoxCopy copy;
    uint8_t map[kMapBytes];
    const uint64_t map_address = address_of(w, in, in.at[1], 0, lane);
    for (uint32_t i = 0; i < kMapBytes; i += kChunk) {
      const MemoryPlace place = find_place(w, in, lane, Space::Generic, map_address + i, kChunk);
      read_memory(w, in, lane, place, map + i, kChunk);
    }
    std::memcpy(&copy.map, map, sizeof(copy.map));
    if (map_address % 64 != 0 || copy.map.magic != fake_cuda::kMapMagic) w.fault(in, only, "there is no tensor map");
    if (copy.map.rank != in.list_size) w.fault(in, only, "the map is of rank " + std::to_string(copy.map.rank));
    if (copy.map.type >= std::size(kElementBytes)) w.fault(in, only, "the map has a type that is not known");
    for (uint32_t i = 0; i < in.list_size; ++i) {
      copy.at[i] = static_cast<int32_t>(w.lanes<uint32_t>(w.kernel().lists[in.list + i])[lane]);
    }
    if (copy.map.swizzle != 0 && copy.row_bytes() != kChunk << copy.map.swizzle) {
      w.fault(in, only, "rows of " + std::to_string(copy.row_bytes()) + " bytes are no whole rows of the swizzle");
    }
    if (copy.row_bytes() % kChunk != 0) w.fault(in, only, "rows of the box are no multiple of 16 bytes");
    const MemoryPlace to = find_place(w, in, lane, Space::SharedCluster, lane_address(w, in, lane), 128);
    const MemoryPlace barrier = find_place(w, in, lane, Space::Shared, address_of(w, in, in.at[2], in.detail, lane), 8);
    copy.offset = static_cast<uint32_t>(to.offset);
    copy.barrier = static_cast<uint32_t>(barrier.offset);
    if (multicast) {
      const uint16_t ranks = w.lanes<uint16_t>(in.at[3])[lane];
      Cluster& cluster = w.cta().cluster();
      if (ranks == 0 || ranks >> cluster.size() != 0) w.fault(in, only, "the cluster lacks CTAs that the copy goes to");
      for (unsigned rank = 0; rank < cluster.size(); ++rank) {
        if (ranks >> rank & 1) copy.to.push_back(&cluster.cta(rank));
      }
    } else {
      copy.to.push_back(to.cta);
    }
    for (Cta* cta : copy.to) {
      if (cta->finished()) w.fault(in, only, "copies to a CTA that has ended");
      SharedMemory& shared = cta->shared();
      if (uint64_t{copy.offset} + copy.bytes() > shared.size())
        w.fault(in, only, "the box ends outside of shared memory");
      const char* wrong = shared.check_write(copy.offset, copy.bytes());
      if (!wrong) wrong = shared.accesses().copy_starts(copy.offset, copy.bytes(), w.time);
      if (wrong) w.fault(in, only, std::string(wrong) + ", at " + std::to_string(copy.offset));
      if (!shared.barrier(copy.barrier)) w.fault(in, only, "there is no mbarrier at " + std::to_string(copy.barrier));
      shared.copy_starts(copy.offset, copy.bytes());
    }
    w.cta().cluster().start_copy([&w, &in, only, copy] { land(w, in, only, copy); });
  }
  return Outcome::Next;
}

void decode_copy(Decoder& d, const Statement& s, Instruction& in) {
  const std::vector<Argument>& a = s.arguments;
  const bool multicast = s.name.ends_with(".multicast::cluster");
  if (s.name.find(".tile.mbarrier::complete_tx::bytes") == std::string::npos || a.size() != (multicast ? 4 : 3)) {
    d.fail("the emulator does not know this copy");
  }
  Instruction map = in, barrier = in;
  d.address(a[0], in);
  d.address(a[1], map);
  d.address(a[2], barrier);
  if (map.address_bytes != 8 || barrier.address_bytes != in.address_bytes || map.offset != 0 || barrier.offset < 0) {
    d.fail("its addresses");
  }
  in.at[1] = map.at[0];
  in.at[2] = barrier.at[0];
  in.detail = static_cast<uint32_t>(barrier.offset);
  if (multicast) in.at[3] = d.value(a[3], 2);
  d.list(a[1].list, 4, in);
  if (in.list_size < 1 || in.list_size > 5) d.fail("the number of coordinates");
  in.variant = multicast;
  in.run = start;
}

constexpr OpcodeFamily kFamilies[] = {{"cp.async.bulk.tensor.", decode_copy}};

}  // namespace

OpcodeTable copy_opcodes() { return {{}, kFamilies}; }

}  // namespace coda::ptx
