// ld and st in every space, of one or several values; prefetch.
#include <algorithm>
#include <cstdlib>

#include "tests/ptx/emulator/access.h"
#include "tests/ptx/emulator/lane_map.h"
#include "tests/ptx/emulator/opcodes.h"

namespace coda::ptx {
namespace {

constexpr uint32_t kMostBytes = 16;

struct SpaceName {
  const char* modifier;
  Space space;
};
constexpr SpaceName kSpaces[] = {
    {".global", Space::Global}, {".shared::cta", Space::Shared}, {".shared::cluster", Space::SharedCluster},
    {".shared", Space::Shared}, {".param", Space::Param},        {".local", Space::Local}};
/// Modifiers that say nothing here: order and caching.
constexpr const char* kIgnored[] = {".weak", ".relaxed", ".acquire", ".release", ".volatile", ".gpu",
                                    ".cta",  ".cluster", ".sys",     ".ca",      ".cg",       ".cs",
                                    ".lu",   ".cv",      ".wb",      ".wt",      ".nc",       ".const"};

struct Type {
  const char* name;
  uint8_t bytes;
  bool is_signed;
};
constexpr Type kTypes[] = {{".b8", 1, false},  {".u8", 1, false},  {".s8", 1, true},   {".b16", 2, false},
                           {".u16", 2, false}, {".s16", 2, true},  {".b32", 4, false}, {".u32", 4, false},
                           {".s32", 4, true},  {".f32", 4, false}, {".b64", 8, false}, {".u64", 8, false},
                           {".s64", 8, true},  {".f64", 8, false}};

/// What `variant` says of an instruction of memory.
constexpr uint8_t kSigned = 16, kRegisterBytes = 15;

template <class T>
void put(Warp& w, Operand to, int lane, uint64_t value) {
  w.lanes<T>(to)[lane] = static_cast<T>(value);
}

Outcome load(Warp& w, const Instruction& in, uint32_t mask) {
  w.need(in, in.at[0], mask, "the address");
  const uint32_t each = in.bytes, all = each * in.list_size;
  uint32_t known = 0;
  uint8_t bytes[kLanes][kMostBytes];
  for (int lane = 0; lane < kLanes; ++lane) {
    if (!(mask >> lane & 1)) continue;
    const MemoryPlace place = find_place(w, in, lane, static_cast<Space>(in.space), lane_address(w, in, lane), all);
    known |= static_cast<uint32_t>(read_memory(w, in, lane, place, bytes[lane], all)) << lane;
  }
  for (uint32_t i = 0; i < in.list_size; ++i) {
    const Operand to = w.kernel().lists[in.list + i];
    w.flow(in, to, known, mask, 0, 0);
    if (to.id == kNoRegister) continue;
    for (int lane = 0; lane < kLanes; ++lane) {
      if (!(mask >> lane & 1)) continue;
      uint64_t value = 0;
      std::memcpy(&value, bytes[lane] + i * each, each);
      if (in.variant & kSigned)
        value = static_cast<uint64_t>(static_cast<int64_t>(value << (64 - 8 * each)) >> (64 - 8 * each));
      switch (in.variant & kRegisterBytes) {
        case 2:
          put<uint16_t>(w, to, lane, value);
          break;
        case 4:
          put<uint32_t>(w, to, lane, value);
          break;
        default:
          put<uint64_t>(w, to, lane, value);
      }
    }
  }
  return Outcome::Next;
}

Outcome store(Warp& w, const Instruction& in, uint32_t mask) {
  w.need(in, in.at[0], mask, "the address");
  const uint32_t each = in.bytes, all = each * in.list_size;
  const uint32_t width = in.variant & kRegisterBytes;
  uint32_t known = kAllLanes;
  // To find who stores what the host may not read: kernels do store undefined parts of partial sums.
  static const bool strict = std::getenv("CODA_EMULATED_STRICT") != nullptr;
  for (uint32_t i = 0; i < in.list_size; ++i) {
    const Operand from = w.kernel().lists[in.list + i];
    Instruction source = in;
    source.at[1] = from;
    w.flow(source, {0, kNoRegister}, w.defined(from), mask, 1, 1);
    known &= w.defined(from);
    if (strict && in.space == static_cast<uint8_t>(Space::Global)) w.need(in, from, mask, "what is stored");
  }
  for (int lane = 0; lane < kLanes; ++lane) {
    if (!(mask >> lane & 1)) continue;
    uint8_t bytes[kMostBytes];
    for (uint32_t i = 0; i < in.list_size; ++i) {
      const Operand from = w.kernel().lists[in.list + i];
      std::memcpy(bytes + i * each, w.lanes<uint8_t>(from) + static_cast<uint32_t>(lane) * width, each);
    }
    const MemoryPlace place = find_place(w, in, lane, static_cast<Space>(in.space), lane_address(w, in, lane), all);
    write_memory(w, in, lane, place, bytes, all, known >> lane & 1);
  }
  return Outcome::Next;
}

void decode_access(Decoder& d, const Statement& s, Instruction& in) {
  const bool loads = s.name.starts_with("ld.");
  if (s.arguments.size() != 2) d.fail("it has two operands");
  in.space = static_cast<uint8_t>(Space::Generic);
  size_t count = 1;
  bool is_signed = false;
  for (size_t begin = 2; begin < s.name.size();) {
    const size_t end = std::min(s.name.find('.', begin + 1), s.name.size());
    const std::string modifier = s.name.substr(begin, end - begin);
    begin = end;
    const auto same = [&](const auto& row) { return modifier == row.modifier; };
    if (const auto* row = std::find_if(std::begin(kSpaces), std::end(kSpaces), same); row != std::end(kSpaces)) {
      in.space = static_cast<uint8_t>(row->space);
    } else if (modifier == ".v2" || modifier == ".v4") {
      count = static_cast<size_t>(modifier[2] - '0');
    } else if (const auto* type = std::find_if(std::begin(kTypes), std::end(kTypes),
                                               [&](const Type& t) { return modifier == t.name; });
               type != std::end(kTypes)) {
      in.bytes = type->bytes;
      is_signed = type->is_signed;
    } else if (std::find(std::begin(kIgnored), std::end(kIgnored), modifier) == std::end(kIgnored)) {
      d.fail("the modifier " + modifier);
    }
  }
  if (in.bytes == 0) d.fail("it has no type");
  const Argument &address = s.arguments[loads ? 1 : 0], &value = s.arguments[loads ? 0 : 1];
  d.address(address, in);
  const std::vector<Argument> values = value.kind == Argument::Kind::List ? value.list : std::vector<Argument>{value};
  if (values.size() != count || count * in.bytes > kMostBytes) d.fail("the number of values");
  in.list = static_cast<uint32_t>(d.kernel().lists.size());
  in.list_size = static_cast<uint32_t>(count);
  int width = 0;
  for (const Argument& argument : values) {
    const RegisterPlace place = d.any_value(argument, std::max<int>(in.bytes, 2));
    if (place.bytes < in.bytes) d.fail("the register is narrower than the value");
    if (width != 0 && place.bytes != width) d.fail("registers of several sizes");
    width = place.bytes;
    d.kernel().lists.push_back(place.operand);
  }
  in.variant = static_cast<uint8_t>(width | (is_signed ? kSigned : 0));
  in.run = loads ? load : store;
}

Outcome nothing(Warp&, const Instruction&, uint32_t) { return Outcome::Next; }

void decode_prefetch(Decoder& d, const Statement& s, Instruction& in) {
  if (s.arguments.size() != 1) d.fail("it has one operand");
  d.address(s.arguments[0], in);
  in.run = nothing;
}

constexpr OpcodeFamily kFamilies[] = {
    {"ld.", decode_access}, {"st.", decode_access}, {"prefetch", decode_prefetch}, {"discard", decode_prefetch}};

}  // namespace

OpcodeTable memory_opcodes() { return {{}, kFamilies}; }

}  // namespace coda::ptx
