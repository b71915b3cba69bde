// wgmma: multiplications of a warpgroup. They are computed when all of its warps have come, in f32, depth after depth;
// their results count as unknown until wgmma.wait_group.
#include <algorithm>
#include <bit>
#include <cstring>

#include "tests/ptx/emulator/cluster.h"
#include "tests/ptx/emulator/lane_map.h"
#include "tests/ptx/emulator/matrix_operand.h"
#include "tests/ptx/emulator/opcodes.h"

namespace coda::ptx {
namespace {

using Element = MatrixShape::Element;

constexpr int kRows = 64, kWarpRows = 16, kWarps = 4;

/// The row and column of a lane's register i, within the warp's 16 rows.
struct Spot {
  int row, column;
};
Spot spot(int lane, int i) { return {lane / 4 + 8 * (i / 2 % 2), 8 * (i / 4) + 2 * (lane % 4) + i % 2}; }

/// The value that all lanes of all warps have.
uint64_t common_descriptor(std::vector<Warp*>& warps, const Instruction& in, Operand o) {
  const uint64_t first = warps[0]->lanes<uint64_t>(o)[0];
  for (Warp* w : warps) {
    w->need(in, o, kAllLanes, "a descriptor");
    for (int lane = 0; lane < kLanes; ++lane) {
      if (w->lanes<uint64_t>(o)[lane] != first)
        w->fault(in, 1u << lane, "threads of the warpgroup have different descriptors");
    }
  }
  return first;
}

/// The last multiplication in flight that writes the register, and the register's number in it: likely `guess`.
std::pair<const Warp::Flight*, uint32_t> last_flight(const Warp& w, uint32_t id, uint32_t guess) {
  const auto look = [&](const std::vector<Warp::Flight>& flights) {
    for (size_t f = flights.size(); f-- > 0;) {
      if (guess < flights[f].size && w.kernel().lists[flights[f].list + guess].id == id) {
        return std::pair{&flights[f], guess};
      }
      for (uint32_t i = 0; i < flights[f].size; ++i) {
        if (w.kernel().lists[flights[f].list + i].id == id) return std::pair{&flights[f], i};
      }
    }
    return std::pair{static_cast<const Warp::Flight*>(nullptr), 0u};
  };
  if (const auto found = look(w.uncommitted); found.first) return found;
  for (size_t g = w.groups.size(); g-- > 0;) {
    if (const auto found = look(w.groups[g]); found.first) return found;
  }
  return {nullptr, 0u};
}

uint32_t defined_after_flight(Warp& w, Operand o, uint32_t guess) {
  const auto [flight, i] = last_flight(w, o.id, guess);
  return flight ? flight->defined[i] : w.defined(o);
}

/// A of 16 rows in registers, two or four elements each.
void registers_to_rows(Warp& w, const Instruction& in, const MatrixShape& shape, MatrixOperand& a, int first_row) {
  const int per_register = 4 / shape.element_bytes();
  for (uint32_t r = 0; r < shape.a_registers; ++r) {
    const Operand o = w.kernel().lists[shape.a_list + r];
    w.need(in, o, kAllLanes, "a part of A");
    for (int lane = 0; lane < kLanes; ++lane) {
      const uint32_t word = w.lanes<uint32_t>(o)[lane];
      for (int e = 0; e < per_register; ++e) {
        const int row = first_row + lane / 4 + 8 * (static_cast<int>(r) % 2);
        const int k = (lane % 4) * per_register + e + static_cast<int>(r) / 2 * 4 * per_register;
        a.values[static_cast<size_t>(k * kRows + row)] =
            element_value(shape.a, word >> (8 * shape.element_bytes() * e));
      }
    }
  }
}

template <class T>
void add_products(const std::vector<T>& a, const std::vector<T>& b, const MatrixShape& shape, int first_row, bool skips,
                  T* sums) {
  const int n = shape.columns, sign = shape.negate_a * shape.negate_b;
  for (int row = 0; row < kWarpRows; ++row) {
    T* to = sums + row * n;
    for (int k = 0; k < shape.depth; ++k) {
      const T factor = static_cast<T>(sign) * a[static_cast<size_t>(k * kRows + first_row + row)];
      if (factor == 0 && skips) continue;
      const T* from = b.data() + k * n;
      for (int c = 0; c < n; ++c) to[c] += factor * from[c];
    }
  }
}

template <class T>
void multiply_warp(Warp& w, const Instruction& in, const MatrixShape& shape, const MatrixOperand& a,
                   const MatrixOperand& b, std::vector<T> MatrixOperand::*values) {
  const Operand* list = &w.kernel().lists[in.list];
  w.need(in, in.at[3], kAllLanes, "scale-d");
  const uint32_t adds = w.predicate(in.at[3]);
  if (adds != 0 && adds != kAllLanes) w.fault(in, kAllLanes, "scale-d differs among lanes");
  const int first_row = w.index() % kWarps * kWarpRows;
  std::vector<T> sums(static_cast<size_t>(kWarpRows * shape.columns));
  std::vector<uint32_t> known(in.list_size);
  for (uint32_t i = 0; i < in.list_size; ++i) {
    known[i] = kAllLanes;
    if (!adds) continue;
    // What an earlier multiplication of the same registers will have written may be added to.
    known[i] &= defined_after_flight(w, list[i], i);
    for (int lane = 0; lane < kLanes; ++lane) {
      const Spot s = spot(lane, static_cast<int>(i));
      sums[static_cast<size_t>(s.row * shape.columns + s.column)] = w.lanes<T>(list[i])[lane];
    }
  }
  add_products(a.*values, b.*values, shape, first_row, b.finite, sums.data());
  for (uint32_t i = 0; i < in.list_size; ++i) {
    for (int lane = 0; lane < kLanes; ++lane) {
      const Spot s = spot(lane, static_cast<int>(i));
      w.lanes<T>(list[i])[lane] = sums[static_cast<size_t>(s.row * shape.columns + s.column)];
    }
    w.defined(list[i]) = 0;
  }
  w.uncommitted.push_back({in.list, in.list_size, std::move(known), 0});
}

Outcome multiply(Warp& w, const Instruction& in, uint32_t mask) {
  if (!w.meet(mask, kAllLanes, Pause::Warpgroup)) return Outcome::Jumped;
  if (!w.cta().warpgroup_meets(w, mask)) return Outcome::Jumped;
  const MatrixShape& shape = w.kernel().shapes[in.detail];
  std::vector<Warp*> warps;
  for (int i = 0; i < kWarps; ++i) {
    warps.push_back(w.cta().warps()[static_cast<size_t>(w.index() / kWarps * kWarps + i)].get());
    if (!warps.back()->matrix_fence) w.fault(in, mask, "no wgmma.fence comes before the multiplication");
  }
  SharedMemory& shared = w.cta().shared();
  MatrixOperand a, b;
  std::string wrong;
  if (shape.a_registers > 0) {
    a.values.resize(static_cast<size_t>(kRows * shape.depth));
    for (Warp* warp : warps) registers_to_rows(*warp, in, shape, a, warp->index() % kWarps * kWarpRows);
  } else {
    wrong = read_operand(shared, warps, common_descriptor(warps, in, in.at[1]), kRows, shape.depth, shape.a,
                         shape.a_other_major, a);
    if (!wrong.empty()) w.fault(in, mask, "operand A: " + wrong);
  }
  wrong = read_operand(shared, warps, common_descriptor(warps, in, in.at[2]), shape.columns, shape.depth, shape.b,
                       shape.b_other_major, b);
  if (!wrong.empty()) w.fault(in, mask, "operand B: " + wrong);
  for (Warp* warp : warps) {
    if (shape.integer) {
      multiply_warp(*warp, in, shape, a, b, &MatrixOperand::integers);
    } else {
      multiply_warp(*warp, in, shape, a, b, &MatrixOperand::values);
    }
  }
  for (const MatrixOperand* operand : {&a, &b}) {
    if (operand->end == 0) continue;
    const uint64_t number = shared.begin_reading(operand->begin, operand->end - operand->begin);
    for (Warp* warp : warps) warp->uncommitted.push_back({0, 0, {}, number});
  }
  w.cta().release_warpgroup(w);
  return Outcome::Next;
}

Outcome fence(Warp& w, const Instruction&, uint32_t mask) {
  if (!w.meet(mask, kAllLanes)) return Outcome::Jumped;
  w.matrix_fence = true;
  return Outcome::Next;
}

Outcome commit(Warp& w, const Instruction&, uint32_t mask) {
  if (!w.meet(mask, kAllLanes)) return Outcome::Jumped;
  w.groups.push_back(std::move(w.uncommitted));
  w.uncommitted.clear();
  return Outcome::Next;
}

/// Waits until at most `detail` groups are in flight.
Outcome wait(Warp& w, const Instruction& in, uint32_t mask) {
  if (!w.meet(mask, kAllLanes)) return Outcome::Jumped;
  while (w.groups.size() > in.detail) {
    for (const Warp::Flight& flight : w.groups.front()) {
      if (flight.reads != 0) w.cta().shared().end_reading(flight.reads, w.time);
    }
    const std::vector<Warp::Flight> done = std::move(w.groups.front());
    w.groups.erase(w.groups.begin());
    for (const Warp::Flight& flight : done) {
      for (uint32_t i = 0; i < flight.size; ++i) {
        const Operand o = w.kernel().lists[flight.list + i];
        if (!last_flight(w, o.id, i).first) w.defined(o) = flight.defined[i];
      }
    }
  }
  w.matrix_fence = w.matrix_fence && !w.groups.empty();
  return Outcome::Next;
}

void decode_multiply(Decoder& d, const Statement& s, Instruction& in) {
  const std::string start = "wgmma.mma_async.sync.aligned.m64n";
  MatrixShape shape;
  size_t at = start.size();
  const auto number = [&] {
    int value = 0;
    while (at < s.name.size() && std::isdigit(static_cast<unsigned char>(s.name[at])))
      value = 10 * value + (s.name[at++] - '0');
    return value;
  };
  if (!s.name.starts_with(start)) d.fail("a shape of 64 rows is needed");
  shape.columns = number();
  ++at;
  shape.depth = number();
  constexpr const char* kNames[] = {"bf16", "f16", "tf32", "e4m3", "e5m2", "s8", "u8"};
  std::vector<std::string> types;
  while (types.size() < 3) {
    const size_t begin = at + 1;
    if (begin >= s.name.size()) d.fail("it has three types");
    at = std::min(s.name.find('.', begin), s.name.size());
    types.push_back(s.name.substr(begin, at - begin));
  }
  const auto element = [&](const std::string& name) {
    const auto* row = std::find_if(std::begin(kNames), std::end(kNames), [&](const char* n) { return name == n; });
    if (row == std::end(kNames)) d.fail("an operand of type " + name);
    return static_cast<Element>(row - std::begin(kNames));
  };
  shape.a = element(types[1]);
  shape.b = element(types[2]);
  shape.integer = types[0] == "s32";
  if (!shape.integer && types[0] != "f32") d.fail("sums of type " + types[0]);
  if (shape.depth * shape.element_bytes() != 32 || shape.columns % 8 != 0 || shape.columns < 8 || shape.columns > 256) {
    d.fail("the shape");
  }
  const std::vector<Argument>& a = s.arguments;
  const bool has_majors = shape.element_bytes() == 2;
  const bool a_in_registers = a.size() > 1 && a[1].kind == Argument::Kind::List;
  const size_t count = shape.integer ? 4 : has_majors ? (a_in_registers ? 7 : 8) : 6;
  if (a.size() != count || a[0].kind != Argument::Kind::List) d.fail("the number of operands");
  if (a_in_registers) {
    Instruction list;
    d.list(a[1].list, 4, list);
    shape.a_list = list.list;
    shape.a_registers = list.list_size;
    if (list.list_size != 4 || shape.integer) d.fail("A in registers");
  } else {
    in.at[1] = d.value(a[1], 8);
  }
  d.list(a[0].list, 4, in);
  if (static_cast<int>(in.list_size) != shape.columns / 2) d.fail("the number of sums");
  in.at[2] = d.value(a[2], 8);
  in.at[3] = d.value(a[3], 0);
  if (!shape.integer) {
    shape.negate_a = static_cast<int>(d.integer(a[4]));
    shape.negate_b = static_cast<int>(d.integer(a[5]));
  }
  if (has_majors) {
    shape.a_other_major = !a_in_registers && d.integer(a[6]) != 0;
    shape.b_other_major = d.integer(a.back()) != 0;
  }
  in.detail = static_cast<uint32_t>(d.kernel().shapes.size());
  d.kernel().shapes.push_back(shape);
  in.run = multiply;
}

void decode_wait(Decoder& d, const Statement& s, Instruction& in) {
  if (s.arguments.size() != 1) d.fail("it has one operand");
  in.detail = static_cast<uint32_t>(d.integer(s.arguments[0]));
  in.run = wait;
}

constexpr Opcode kOpcodes[] = {
    {"wgmma.fence.sync.aligned", "", fence},
    {"wgmma.commit_group.sync.aligned", "", commit},
};
constexpr OpcodeFamily kFamilies[] = {{"wgmma.mma_async.", decode_multiply},
                                      {"wgmma.wait_group.sync.aligned", decode_wait}};

}  // namespace

OpcodeTable matrix_opcodes() { return {kOpcodes, kFamilies}; }

}  // namespace coda::ptx
