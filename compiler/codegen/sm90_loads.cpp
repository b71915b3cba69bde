#include "compiler/codegen/sm90_loads.h"

#include <algorithm>
#include <bit>

namespace coda {
namespace {

constexpr int kMostBytes = 16;
/// Slices between a load and its use: enough for the L2's latency.
constexpr int kSlicesAhead = 8;
/// 32-bit words that may be on their way ahead of their slice: what the accumulators leave of the registers.
constexpr int kWordsAhead = 36, kFewWordsAhead = 16;
constexpr int kRoomForLoads = 128;  // accumulators

int floor_mod(int64_t a, int64_t b) { return static_cast<int>((a % b + b) % b); }

}  // namespace

int sm90_unit_elements(const Sm90Region& region, const Coord& last, int element_bytes, int* per_slot) {
  *per_slot = 1;
  const Fraction along = last.factor_of(region.fragment.quad_low());
  const int width = region.plan.width;
  // Neighbouring slots must be neighbours in memory, or every second one.
  int most = 0;
  if (along == Fraction{width, 1}) {
    most = width;
  } else if (width > 2 && along == Fraction{width / 2, 1}) {
    most = width / 2;
    *per_slot = 2;
  } else {
    return 1;
  }
  most = std::min(most, kMostBytes / element_bytes);
  const Coord variable_part = last - Coord(last.constant());
  most = static_cast<int>(
      std::min<int64_t>(most, known_multiple(const_cast<Sm90Region&>(region).fragment.space(), variable_part)));
  return std::max(1, static_cast<int>(std::bit_floor(static_cast<unsigned>(most))));
}

std::optional<ConditionSpec> sm90_wide_condition(const Sm90Region& region, int param, const Coord& start,
                                                 int elements) {
  const Param& p = region.context.epilogue.program.params[static_cast<size_t>(param)];
  ConditionSpec condition;
  condition.param = param;
  condition.unit_axis = static_cast<int>(p.dims.size()) - 1;
  condition.alignment = int64_t{elements} * info(p.dtype).bits / 8;
  condition.extent_multiple = region.plan.width;
  for (const Dim& extent : {p.dims.back().extent, region.region.extent, start.symbolic()}) {
    if (const auto constant = extent.constant()) {
      if (*constant % elements != 0) return std::nullopt;
      continue;
    }
    if (std::find(condition.extents.begin(), condition.extents.end(), extent) == condition.extents.end()) {
      condition.extents.push_back(extent);
    }
  }
  return condition;
}

Val sm90_address(Sm90Context& context, int param, std::span<const Coord> index,
                 const std::function<Val(const Coord&)>& value) {
  NvptxBuilder& b = context.b;
  Sm90Arguments& arguments = context.arguments;
  const int bytes = info(context.epilogue.program.params[static_cast<size_t>(param)].dtype).bits / 8;
  Val address = arguments.pointer(param);
  if (context.epilogue.program.params[static_cast<size_t>(param)].layout == ParamLayout::Mx128x4) {
    return b.add(address, sm90_mx128x4_offset(b, value(index[0]), value(index[1]), arguments.stride(param, 0)));
  }
  for (size_t axis = 0; axis < index.size(); ++axis) {
    // The constant comes last, so that neighbours share the rest.
    const Coord rest = index[axis] - Coord(index[axis].constant());
    const bool last = axis + 1 == index.size();
    Val step = last ? b.i64(bytes) : b.mul(arguments.stride(param, static_cast<int>(axis)), bytes);
    if (!(rest == Coord(0))) address = b.add(address, b.mul(value(rest), step));
    if (index[axis].constant() != 0) address = b.add(address, b.mul(step, index[axis].constant()));
  }
  return address;
}

Val Sm90Loads::load(int param, std::span<const Coord> index, Val predicate, EpilogueEvaluator& evaluator) {
  const Param& p = r_.context.epilogue.program.params[static_cast<size_t>(param)];
  const int bits = info(p.dtype).bits;
  if (bits < 8) {
    r_.fail("reading elements of type " + std::string(info(p.dtype).name) + " in an epilogue");
    return r_.numbers.emitter().real(0);
  }
  NvptxBuilder& b = r_.context.b;
  if (predicate) {
    // Only here is it known where to read, so it is read here.
    Val at = sm90_address(r_.context, param, index, [&](const Coord& x) { return evaluator.value_of(x); });
    return r_.numbers.decode(gpu::load_element(b, at, bits / 8, r_.guard(r_.slot, predicate)), p.dtype);
  }
  const bool early = !r_.rare && std::all_of(index.begin(), index.end(), [&](const Coord& coordinate) {
    return r_.fragment.is_known_early(coordinate);
  });
  const bool by_column = !early || std::any_of(index.begin(), index.end(), [&](const Coord& coordinate) {
    return r_.fragment.depends_on_column(coordinate);
  });
  int per_slot = 1;
  const int elements = sm90_unit_elements(r_, index.back(), bits / 8, &per_slot);
  const int element_index = floor_mod(index.back().constant(), elements);
  std::vector<Coord> start(index.begin(), index.end());
  start.back() = start.back() - Coord(element_index);

  ElementKey key{param, start};
  Cache& cache = by_column ? by_column_ : by_row_;
  auto found = cache.find(key);
  if (found == cache.end()) {
    Run run;
    const auto emit = [&] {
      run = read(param, start, elements, per_slot, element_index, by_column, early ? nullptr : &evaluator);
    };
    if (early) {
      const int words = std::max(1, elements * (bits / 8) / 4);
      const int place = by_column ? earliest_place(words) : 0;
      b.at(r_.places[static_cast<size_t>(place)], emit);
    } else {
      emit();
    }
    found = cache.emplace(std::move(key), std::move(run)).first;
  }
  return element(found->second, element_index, p.dtype);
}

int Sm90Loads::earliest_place(int words) {
  // Very many accumulators fill the registers, and several blocks of rows have more addresses; then there is room as
  // slices are done with (half of it: two slices may share accumulators).
  const Sm90Plan& plan = r_.context.plan;
  const bool none = plan.sparing || plan.accumulators() > kRoomForLoads;
  const int start = none ? 0 : plan.row_blocks() == 1 ? kWordsAhead : kFewWordsAhead;
  const int freed = r_.plan.width * r_.plan.segments / 4;
  const auto budget = [&](int place) {
    return std::min(kWordsAhead, start + std::max(0, place - kSlicesAhead) * freed);
  };
  ahead_.resize(r_.places.size(), 0);
  int place = r_.slice;
  while (place > 0 && r_.slice - place < kSlicesAhead &&
         ahead_[static_cast<size_t>(place - 1)] + words <= budget(place - 1)) {
    --place;
    ahead_[static_cast<size_t>(place)] += words;
  }
  return place;
}

Sm90Loads::Run Sm90Loads::read(int param, std::span<const Coord> index, int elements, int per_slot, int element_index,
                               bool by_column, EpilogueEvaluator* evaluator) {
  NvptxBuilder& b = r_.context.b;
  const int bytes = info(r_.context.epilogue.program.params[static_cast<size_t>(param)].dtype).bits / 8;
  Val at = sm90_address(r_.context, param, index,
                        [&](const Coord& x) { return evaluator ? evaluator->value_of(x) : r_.early_value(x); });
  std::vector<int> slots;
  const int first = r_.slot - r_.slot % per_slot;
  for (int i = 0; i < elements; ++i) slots.push_back(first + per_slot * (i - element_index));
  const auto condition =
      elements * bytes >= 4 && elements > 1 ? sm90_wide_condition(r_, param, index.back(), elements) : std::nullopt;
  Run run;
  if (condition) {
    run.packed = true;
    run.values = gpu::load_unit(b, {at, bytes, slots, r_.wide(*condition), r_.remaining, {}});
    return run;
  }
  for (int i = 0; i < elements; ++i) {
    Val inside = by_column ? r_.guard(slots[static_cast<size_t>(i)], {}) : Val{};
    run.values.push_back(gpu::load_element(b, b.add(at, i * bytes), bytes, inside));
  }
  return run;
}

Val Sm90Loads::element(const Run& run, int index, DType dtype) {
  NvptxBuilder& b = r_.context.b;
  if (!run.packed) return r_.numbers.decode(run.values[static_cast<size_t>(index)], dtype);
  const int byte = index * info(dtype).bits / 8;
  const size_t word = static_cast<size_t>(byte / 4);
  if (info(dtype).bits == 64) {
    Val low = b.convert(run.values[word], Ty::I64), high = b.convert(run.values[word + 1], Ty::I64);
    return r_.numbers.decode(b.op(IntOp::Or, low, b.op(IntOp::Shl, high, 32)), dtype);
  }
  Val stored = run.values[word];
  return r_.numbers.decode(byte % 4 == 0 ? stored : b.op(IntOp::Lshr, stored, byte % 4 * 8), dtype);
}

}  // namespace coda
