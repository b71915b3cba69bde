// atom and red on global and shared memory, lane after lane.
#include <algorithm>

#include "tests/ptx/emulator/access.h"
#include "tests/ptx/emulator/lane_map.h"
#include "tests/ptx/emulator/opcodes.h"

namespace coda::ptx {
namespace {

template <class T>
T of_bits(uint64_t bits) {
  T value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}
template <class T>
uint64_t bits_of(T value) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(value));
  return bits;
}

using Function = uint64_t (*)(uint64_t old, uint64_t a, uint64_t b);
struct Row {
  const char *operation, *type;
  uint8_t bytes;
  Function apply;
};

template <class T>
uint64_t add(uint64_t old, uint64_t a, uint64_t) {
  return bits_of<T>(static_cast<T>(of_bits<T>(old) + of_bits<T>(a)));
}
template <class T>
uint64_t least(uint64_t old, uint64_t a, uint64_t) {
  return bits_of<T>(std::min(of_bits<T>(old), of_bits<T>(a)));
}
template <class T>
uint64_t most(uint64_t old, uint64_t a, uint64_t) {
  return bits_of<T>(std::max(of_bits<T>(old), of_bits<T>(a)));
}
uint64_t both(uint64_t old, uint64_t a, uint64_t) { return old & a; }
uint64_t either(uint64_t old, uint64_t a, uint64_t) { return old | a; }
uint64_t one(uint64_t old, uint64_t a, uint64_t) { return old ^ a; }
uint64_t exchange(uint64_t, uint64_t a, uint64_t) { return a; }
uint64_t compare_and_swap(uint64_t old, uint64_t a, uint64_t b) { return old == a ? b : old; }
uint64_t increment(uint64_t old, uint64_t a, uint64_t) { return old >= a ? 0 : old + 1; }
uint64_t decrement(uint64_t old, uint64_t a, uint64_t) { return old == 0 || old > a ? a : old - 1; }

constexpr Row kRows[] = {{".add", ".u32", 4, add<uint32_t>},
                         {".add", ".s32", 4, add<uint32_t>},
                         {".add", ".u64", 8, add<uint64_t>},
                         {".add", ".f32", 4, add<float>},
                         {".add", ".f64", 8, add<double>},
                         {".min", ".u32", 4, least<uint32_t>},
                         {".min", ".s32", 4, least<int32_t>},
                         {".min", ".u64", 8, least<uint64_t>},
                         {".min", ".s64", 8, least<int64_t>},
                         {".max", ".u32", 4, most<uint32_t>},
                         {".max", ".s32", 4, most<int32_t>},
                         {".max", ".u64", 8, most<uint64_t>},
                         {".max", ".s64", 8, most<int64_t>},
                         {".and", ".b32", 4, both},
                         {".or", ".b32", 4, either},
                         {".xor", ".b32", 4, one},
                         {".exch", ".b32", 4, exchange},
                         {".exch", ".b64", 8, exchange},
                         {".cas", ".b32", 4, compare_and_swap},
                         {".cas", ".b64", 8, compare_and_swap},
                         {".inc", ".u32", 4, increment},
                         {".dec", ".u32", 4, decrement}};

Outcome atomic(Warp& w, const Instruction& in, uint32_t mask) {
  const Row& row = kRows[in.detail];
  w.need(in, in.at[0], mask, "the address");
  w.need(in, in.at[2], mask, "the operand");
  if (in.variant) w.need(in, in.at[3], mask, "the operand");
  const auto value = [&](Operand o, int lane) {
    return row.bytes == 4 ? w.lanes<uint32_t>(o)[lane] : w.lanes<uint64_t>(o)[lane];
  };
  for (int lane = 0; lane < kLanes; ++lane) {
    if (!(mask >> lane & 1)) continue;
    const MemoryPlace place =
        find_place(w, in, lane, static_cast<Space>(in.space), lane_address(w, in, lane), row.bytes);
    uint64_t old = 0;
    if (!read_memory(w, in, lane, place, &old, row.bytes)) w.fault(in, 1u << lane, "the memory is undefined");
    const uint64_t result = row.apply(old, value(in.at[2], lane), in.variant ? value(in.at[3], lane) : 0);
    write_memory(w, in, lane, place, &result, row.bytes, true);
    if (in.at[1].id == kNoRegister) continue;
    if (row.bytes == 4) {
      w.lanes<uint32_t>(in.at[1])[lane] = static_cast<uint32_t>(old);
    } else {
      w.lanes<uint64_t>(in.at[1])[lane] = old;
    }
  }
  w.flow(in, in.at[1], kAllLanes, mask, 0, 0);
  return Outcome::Next;
}

void decode_atomic(Decoder& d, const Statement& s, Instruction& in) {
  const bool returns = s.name.starts_with("atom.");
  const size_t first = returns ? 1 : 0;
  const auto has = [&](const std::string& modifier) {
    const size_t at = s.name.find(modifier);
    return at != std::string::npos && (at + modifier.size() == s.name.size() || s.name[at + modifier.size()] == '.');
  };
  in.space = static_cast<uint8_t>(has(".global") ? Space::Global : has(".shared") ? Space::Shared : Space::Generic);
  const auto* row = std::find_if(std::begin(kRows), std::end(kRows),
                                 [&](const Row& r) { return has(r.operation) && s.name.ends_with(r.type); });
  if (row == std::end(kRows)) d.fail("that operation of memory");
  in.detail = static_cast<uint32_t>(row - std::begin(kRows));
  in.variant = row->apply == compare_and_swap;
  if (s.arguments.size() != first + 2 + in.variant) d.fail("the number of operands");
  const uint8_t variant = in.variant;
  d.address(s.arguments[first], in);
  in.variant = variant;
  in.at[1] = returns ? d.value(s.arguments[0], row->bytes) : Operand{0, kNoRegister};
  in.at[2] = d.value(s.arguments[first + 1], row->bytes);
  if (in.variant) in.at[3] = d.value(s.arguments[first + 2], row->bytes);
  in.run = atomic;
}

constexpr OpcodeFamily kFamilies[] = {{"atom.", decode_atomic}, {"red.", decode_atomic}};

}  // namespace

OpcodeTable atomic_opcodes() { return {{}, kFamilies}; }

}  // namespace coda::ptx
