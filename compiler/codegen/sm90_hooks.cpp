#include "compiler/codegen/sm90_hooks.h"

#include <algorithm>

namespace coda {

void combine_lanes(NvptxBuilder& b, Emitter& emitter, const Reduction& reduction, int mask, Val* state) {
  Val other[kMaxStateWords];
  for (int i = 0; i < reduction.state_size; ++i) other[i] = gpu::shuffle_xor(b, state[i], mask);
  reduction.emit_combine(emitter, state, other);
}

Val sm90_scalar(Sm90Context& context, NvptxNumbers& numbers, int param) {
  NvptxBuilder& b = context.b;
  Val word = context.arguments.scalar(param);
  switch (info(context.epilogue.program.params[static_cast<size_t>(param)].dtype).num_class) {
    case NumClass::Real:
      return numbers.decode(b.convert(word, Ty::I32), DType::F32);
    case NumClass::Int:
      return word;
    case NumClass::Bool:
      return b.test(IntTest::Ne, word, 0);
  }
  return word;
}

Val Sm90Hooks::scalar(int param) { return sm90_scalar(r_.context, r_.numbers, param); }

Val Sm90Hooks::load(int param, std::span<const Coord> index, Val predicate) {
  return loads_.load(param, index, predicate, *evaluator_);
}

Val Sm90Hooks::accumulator(const Coord& row, const Coord& column, Val) {
  const auto h = r_.fragment.row_slot(row);
  const auto place = r_.fragment.find(column);
  if (!h || !place) {
    r_.fail("the accumulator at column " + r_.fragment.space().to_text(column));
    return r_.numbers.emitter().real(0);
  }
  touched.insert(place->slot);
  return accumulators_[static_cast<size_t>(r_.context.plan.accumulator(r_.index, *h, place->segment, place->slot))];
}

/// Lanes that share a reduction each read their part of it if one of them needs the whole.
Val Sm90Hooks::needed_by_any(Val predicate, std::span<const int> shuffles) {
  if (!predicate) return predicate;
  NvptxBuilder& b = r_.context.b;
  for (const int mask : shuffles) {
    const Val other = gpu::shuffle_xor(b, b.bits(b.convert(predicate, Ty::I32), Ty::F32), mask);
    predicate = b.op(IntOp::Or, predicate, b.test(IntTest::Ne, b.bits(other, Ty::I32), 0));
  }
  return predicate;
}

void Sm90Hooks::reduce(const TileReduction& request, const Sm90Fragment::Share& share, Env& env, size_t axis,
                       Val* state) {
  if (axis == request.over.size()) {
    request.reduction->emit_lift(r_.numbers.emitter(), request.body(env, request.predicate), state);
    return;
  }
  const NamedDim& dim = request.over[axis];
  if (axis + 1 == request.over.size()) {
    const int evaluated = r_.slot;
    for (size_t i = 0; i < share.own.size(); ++i) {
      env.set(dim.name, share.own[i]);
      // What is read for a column is guarded as its own slot is.
      if (r_.fragment.is_one_tile()) r_.slot = share.slots[i];
      Val before[kMaxStateWords];
      std::copy_n(state, kMaxStateWords, before);
      reduce(request, share, env, axis + 1, state);
      if (i < share.ragged) continue;
      Val inside = r_.column_inside(share.slots[i]);
      for (int w = 0; w < request.reduction->state_size; ++w) {
        state[w] = r_.numbers.emitter().select(inside, state[w], before[w]);
      }
    }
    r_.slot = evaluated;
    return;
  }
  for (int64_t i = 0; i < *dim.extent.constant(); ++i) {
    env.set(dim.name, Coord(i));
    reduce(request, share, env, axis + 1, state);
  }
}

Val Sm90Hooks::reduce_in_tile(const TileReduction& request) {
  Emitter& e = r_.numbers.emitter();
  double count = 1;
  for (const NamedDim& dim : request.over) {
    if (!dim.extent.constant()) {
      r_.fail("a reduction over `" + dim.name + "`, which has no fixed extent");
      return e.real(0);
    }
    count *= static_cast<double>(*dim.extent.constant());
  }
  const auto share = r_.fragment.share(*request.over.back().extent.constant(), steps_.of(request));
  if (!share) {
    r_.fail("a reduction over " + request.over.back().extent.text() + " columns");
    return e.real(0);
  }
  Val state[kMaxStateWords];
  for (int i = 0; i < request.reduction->state_size; ++i) state[i] = e.real(request.reduction->identity[i]);
  Env env = *request.env;
  TileReduction shared = request;
  shared.predicate = needed_by_any(request.predicate, share->shuffles);
  reduce(shared, *share, env, 0, state);
  for (int mask : share->shuffles) combine_lanes(r_.context.b, e, *request.reduction, mask, state);
  return request.reduction->emit_finish(e, state, e.real(count));
}

Val Sm90Hooks::statistic(const Statistic&, const Env&, Val) {
  r_.fail("a statistic of more than the tile, inside the tile");
  return r_.numbers.emitter().real(0);
}

}  // namespace coda
