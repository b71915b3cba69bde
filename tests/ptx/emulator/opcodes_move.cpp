// mov, also of packed words; selp; cvta; shuffles between lanes; votes.
#include "tests/ptx/emulator/addresses.h"
#include "tests/ptx/emulator/lane_map.h"
#include "tests/ptx/emulator/opcodes.h"

namespace coda::ptx {
namespace {

/// A mov of a register that a multiplication in flight writes is its renaming, and so faults: flow() sees it.
template <class T>
Outcome move(Warp& w, const Instruction& in, uint32_t mask) {
  w.flow(in, in.at[0], w.defined(in.at[1]), mask, 1, 1);
  keep(w.lanes<T>(in.at[0]), w.lanes<T>(in.at[1]), mask);
  return Outcome::Next;
}

Outcome move_predicate(Warp& w, const Instruction& in, uint32_t mask) {
  w.flow(in, in.at[0], w.defined(in.at[1]), mask, 1, 1);
  uint32_t& to = w.predicate(in.at[0]);
  to = (to & ~mask) | (w.predicate(in.at[1]) & mask);
  return Outcome::Next;
}
/// mov.pred p, 0 or 1 (variant).
Outcome set_predicate(Warp& w, const Instruction& in, uint32_t mask) {
  w.flow(in, in.at[0], kAllLanes, mask, 0, 0);
  uint32_t& to = w.predicate(in.at[0]);
  to = (to & ~mask) | (in.variant ? mask : 0);
  return Outcome::Next;
}

/// Parts of `bytes` each, lowest first, to and from one register.
template <class Whole, class Part>
Outcome pack(Warp& w, const Instruction& in, uint32_t mask) {
  uint32_t known = kAllLanes;
  Whole result[kLanes] = {};
  for (uint32_t i = 0; i < in.list_size; ++i) {
    const Operand part = w.kernel().lists[in.list + i];
    Instruction source = in;
    source.at[1] = part;
    w.flow(source, {0, kNoRegister}, w.defined(part), mask, 1, 1);
    known &= w.defined(part);
    for (int lane = 0; lane < kLanes; ++lane) {
      result[lane] |= static_cast<Whole>(static_cast<Whole>(w.lanes<Part>(part)[lane]) << (8 * sizeof(Part) * i));
    }
  }
  w.flow(in, in.at[0], known, mask, 0, 0);
  keep(w.lanes<Whole>(in.at[0]), result, mask);
  return Outcome::Next;
}
template <class Whole, class Part>
Outcome unpack(Warp& w, const Instruction& in, uint32_t mask) {
  const uint32_t known = w.defined(in.at[1]);
  Whole values[kLanes];
  std::memcpy(values, w.lanes<Whole>(in.at[1]), sizeof(values));
  for (uint32_t i = 0; i < in.list_size; ++i) {
    const Operand part = w.kernel().lists[in.list + i];
    if (part.id == kNoRegister) continue;
    Part result[kLanes];
    for (int lane = 0; lane < kLanes; ++lane) result[lane] = static_cast<Part>(values[lane] >> (8 * sizeof(Part) * i));
    w.flow(in, part, known, mask, 1, 1);
    keep(w.lanes<Part>(part), result, mask);
  }
  return Outcome::Next;
}

void decode_move(Decoder& d, const Statement& s, Instruction& in) {
  if (s.arguments.size() != 2) d.fail("mov has two operands");
  const Argument &to = s.arguments[0], &from = s.arguments[1];
  const std::string_view type = std::string_view(s.name).substr(s.name.rfind('.') + 1);
  if (type == "pred") {
    in.at[0] = d.value(to, 0);
    if (from.kind == Argument::Kind::Integer) {
      in.variant = from.bits != 0;
      in.run = set_predicate;
      return;
    }
    in.at[1] = d.value(from, 0);
    in.run = move_predicate;
    return;
  }
  const int bytes = type.ends_with("16") ? 2 : type.ends_with("32") ? 4 : type.ends_with("64") ? 8 : 0;
  if (bytes == 0) d.fail("a mov of that type");
  if (to.kind == Argument::Kind::List || from.kind == Argument::Kind::List) {
    const bool packs = from.kind == Argument::Kind::List;
    const std::vector<Argument>& parts = packs ? from.list : to.list;
    const int part = bytes / static_cast<int>(parts.size());
    d.list(parts, part, in);
    in.at[packs ? 0 : 1] = d.value(packs ? to : from, bytes);
    if (bytes == 4 && part == 2) in.run = packs ? pack<uint32_t, uint16_t> : unpack<uint32_t, uint16_t>;
    if (bytes == 8 && part == 2) in.run = packs ? pack<uint64_t, uint16_t> : unpack<uint64_t, uint16_t>;
    if (bytes == 8 && part == 4) in.run = packs ? pack<uint64_t, uint32_t> : unpack<uint64_t, uint32_t>;
    if (!in.run) d.fail("parts of that size");
    return;
  }
  in.at[0] = d.value(to, bytes);
  in.at[1] = d.value(from, bytes);
  in.run = bytes == 2 ? move<uint16_t> : bytes == 4 ? move<uint32_t> : move<uint64_t>;
}

template <class T>
Outcome select(Warp& w, const Instruction& in, uint32_t mask) {
  const uint32_t condition = w.predicate(in.at[3]);
  const T *a = w.lanes<T>(in.at[1]), *b = w.lanes<T>(in.at[2]);
  T result[kLanes];
  for (int i = 0; i < kLanes; ++i) result[i] = condition >> i & 1 ? a[i] : b[i];
  const uint32_t known = w.defined(in.at[3]) & ((condition & w.defined(in.at[1])) | (~condition & w.defined(in.at[2])));
  w.flow(in, in.at[0], known, mask, 1, 3);
  keep(w.lanes<T>(in.at[0]), result, mask);
  return Outcome::Next;
}

/// Addresses: `to` and `from` generic add or take away the window.
template <uint64_t kWindow, bool kToGeneric>
Outcome convert_address(Warp& w, const Instruction& in, uint32_t mask) {
  const uint64_t* a = w.lanes<uint64_t>(in.at[1]);
  uint64_t result[kLanes];
  for (int i = 0; i < kLanes; ++i) result[i] = kToGeneric ? a[i] + kWindow : a[i] - kWindow;
  w.flow(in, in.at[0], w.defined(in.at[1]), mask, 1, 1);
  keep(w.lanes<uint64_t>(in.at[0]), result, mask);
  return Outcome::Next;
}

enum class Shuffle { Index, Butterfly, Up, Down };
template <Shuffle kKind>
Outcome shuffle(Warp& w, const Instruction& in, uint32_t mask) {
  w.need(in, in.at[4], mask, "the mask of lanes");
  const uint32_t* members = w.lanes<uint32_t>(in.at[4]);
  uint32_t with = 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    if (!(mask >> lane & 1)) continue;
    if (with != 0 && members[lane] != with) w.fault(in, mask, "lanes differ on who takes part");
    with = members[lane];
    if (!(with >> lane & 1)) w.fault(in, 1u << lane, "the lane is not in its own mask");
  }
  if ((with & ~w.alive()) != 0) w.fault(in, mask, "lanes of the mask have exited");
  if (!w.meet(mask, with)) return Outcome::Jumped;
  w.need(in, in.at[2], mask, "the lane to read");
  w.need(in, in.at[3], mask, "the clamp");
  uint32_t result[kLanes] = {}, known = 0;
  for (int lane = 0; lane < kLanes; ++lane) {
    if (!(mask >> lane & 1)) continue;
    const uint32_t b = w.lanes<uint32_t>(in.at[2])[lane], c = w.lanes<uint32_t>(in.at[3])[lane];
    const int clamp = static_cast<int>(c & 31), segment = static_cast<int>(c >> 8 & 31), by = static_cast<int>(b & 31);
    const int most = (lane & segment) | (clamp & ~segment), least = lane & segment;
    int from = 0;
    bool inside = true;
    switch (kKind) {
      case Shuffle::Index:
        from = least | (by & ~segment);
        inside = from <= most;
        break;
      case Shuffle::Butterfly:
        from = lane ^ by;
        inside = from <= most;
        break;
      case Shuffle::Up:
        from = lane - by;
        inside = from >= most;
        break;
      case Shuffle::Down:
        from = lane + by;
        inside = from <= most;
        break;
    }
    if (!inside) from = lane;
    if (!(mask >> from & 1)) w.fault(in, 1u << lane, "reads lane " + std::to_string(from) + ", which takes no part");
    result[lane] = w.lanes<uint32_t>(in.at[1])[from];
    known |= (w.defined(in.at[1]) >> from & 1) << lane;
  }
  w.flow(in, in.at[0], known, mask, 1, 1);
  keep(w.lanes<uint32_t>(in.at[0]), result, mask);
  return Outcome::Next;
}

constexpr Opcode kOpcodes[] = {
    {"selp.b16", "hhhp", select<uint16_t>},
    {"selp.f16", "hhhp", select<uint16_t>},
    {"selp.b32", "wwwp", select<uint32_t>},
    {"selp.s32", "wwwp", select<uint32_t>},
    {"selp.u32", "wwwp", select<uint32_t>},
    {"selp.f32", "wwwp", select<uint32_t>},
    {"selp.b64", "dddp", select<uint64_t>},
    {"selp.s64", "dddp", select<uint64_t>},
    {"selp.u64", "dddp", select<uint64_t>},
    {"selp.f64", "dddp", select<uint64_t>},
    {"cvta.shared.u64", "dd", convert_address<kSharedWindow, true>},
    {"cvta.to.shared.u64", "dd", convert_address<kSharedWindow, false>},
    {"cvta.to.shared::cluster.u64", "dd", convert_address<kSharedWindow, false>},
    {"cvta.param.u64", "dd", convert_address<kParamWindow, true>},
    {"cvta.local.u64", "dd", convert_address<kLocalWindow, true>},
    {"cvta.to.local.u64", "dd", convert_address<kLocalWindow, false>},
    {"cvta.to.global.u64", "dd", convert_address<0, false>},
    {"cvta.global.u64", "dd", convert_address<0, true>},
    {"shfl.sync.idx.b32", "wwwww", shuffle<Shuffle::Index>},
    {"shfl.sync.bfly.b32", "wwwww", shuffle<Shuffle::Butterfly>},
    {"shfl.sync.up.b32", "wwwww", shuffle<Shuffle::Up>},
    {"shfl.sync.down.b32", "wwwww", shuffle<Shuffle::Down>},
};
constexpr OpcodeFamily kFamilies[] = {{"mov.", decode_move}};

}  // namespace

OpcodeTable move_opcodes() { return {kOpcodes, kFamilies}; }

}  // namespace coda::ptx
