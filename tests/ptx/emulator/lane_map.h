// Handlers of instructions that map each lane's operands to its result, made from functions of one lane.
#pragma once

#include <cstring>

#include "tests/ptx/emulator/code.h"
#include "tests/ptx/emulator/warp.h"

namespace coda::ptx {

template <class D>
void keep(D* to, const D* values, uint32_t mask) {
  if (mask == kAllLanes) {
    std::memcpy(to, values, sizeof(D) * kLanes);
    return;
  }
  for (int lane = 0; lane < kLanes; ++lane) {
    if (mask >> lane & 1) to[lane] = values[lane];
  }
}

/// Operands of 1 to 4 lanes' types, then F of them. All lanes are computed: F must take any bits.
template <class F, class D, class A>
Outcome map1(Warp& w, const Instruction& in, uint32_t mask) {
  const A* a = w.lanes<A>(in.at[1]);
  D result[kLanes];
  for (int i = 0; i < kLanes; ++i) result[i] = F()(a[i]);
  w.flow(in, in.at[0], w.defined(in.at[1]), mask, 1, 1);
  keep(w.lanes<D>(in.at[0]), result, mask);
  return Outcome::Next;
}

template <class F, class D, class A, class B = A>
Outcome map2(Warp& w, const Instruction& in, uint32_t mask) {
  const A* a = w.lanes<A>(in.at[1]);
  const B* b = w.lanes<B>(in.at[2]);
  D result[kLanes];
  for (int i = 0; i < kLanes; ++i) result[i] = F()(a[i], b[i]);
  w.flow(in, in.at[0], w.defined(in.at[1]) & w.defined(in.at[2]), mask, 1, 2);
  keep(w.lanes<D>(in.at[0]), result, mask);
  return Outcome::Next;
}

template <class F, class D, class A, class B = A, class C = D>
Outcome map3(Warp& w, const Instruction& in, uint32_t mask) {
  const A* a = w.lanes<A>(in.at[1]);
  const B* b = w.lanes<B>(in.at[2]);
  const C* c = w.lanes<C>(in.at[3]);
  D result[kLanes];
  for (int i = 0; i < kLanes; ++i) result[i] = F()(a[i], b[i], c[i]);
  w.flow(in, in.at[0], w.defined(in.at[1]) & w.defined(in.at[2]) & w.defined(in.at[3]), mask, 1, 3);
  keep(w.lanes<D>(in.at[0]), result, mask);
  return Outcome::Next;
}

/// As map1 for functions that are slow: only the lanes in the mask are computed.
template <class F, class D, class A>
Outcome each1(Warp& w, const Instruction& in, uint32_t mask) {
  const A* a = w.lanes<A>(in.at[1]);
  D* to = w.lanes<D>(in.at[0]);
  w.flow(in, in.at[0], w.defined(in.at[1]), mask, 1, 1);
  for (int i = 0; i < kLanes; ++i) {
    if (mask >> i & 1) to[i] = F()(a[i]);
  }
  return Outcome::Next;
}

/// A predicate of two operands.
template <class F, class A>
Outcome test2(Warp& w, const Instruction& in, uint32_t mask) {
  const A* a = w.lanes<A>(in.at[1]);
  const A* b = w.lanes<A>(in.at[2]);
  uint32_t result = 0;
  for (int i = 0; i < kLanes; ++i) result |= static_cast<uint32_t>(F()(a[i], b[i])) << i;
  w.flow(in, in.at[0], w.defined(in.at[1]) & w.defined(in.at[2]), mask, 1, 2);
  uint32_t& to = w.predicate(in.at[0]);
  to = (to & ~mask) | (result & mask);
  return Outcome::Next;
}

}  // namespace coda::ptx
