#include "compiler/codegen/sm90_rowwise_frame.h"

#include <algorithm>
#include <bit>
#include <numeric>

namespace coda {
namespace {

constexpr int kAccessBytes = 16;
/// Elements of a reduction within an element that are written out rather than visited in a loop.
constexpr int64_t kMostUnrolled = 32;

int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }
int64_t floor_mod(int64_t a, int64_t b) { return a - floor_div(a, b) * b; }

}  // namespace

Sm90RowFrame::Sm90RowFrame(Sm90RowContext& context, const Sm90Row& row, const std::vector<Val>& statistics,
                           bool unrolled)
    : c_(context), row_(row), statistics_(statistics), unrolled_(unrolled) {
  for (const auto& [dim, value] : row.digits) {
    const VarId variable = space_.add({.name = dim.name, .bound = dim.extent});
    variables_[variable] = value;
    rows_.set(dim.name, Coord::variable(variable));
  }
  evaluator_ = std::make_unique<EpilogueEvaluator>(c_.epilogue, space_, c_.numbers.emitter(), *this);
}

Sm90RowFrame::~Sm90RowFrame() {
  if (!evaluator_->failure().empty()) c_.fail(evaluator_->failure());
}

// ---- coordinates ----------------------------------------------------------------------------------------------------

void Sm90RowFrame::open_region(int region, Val first) {
  NvptxBuilder& b = c_.b;
  const Dim& extent = c_.epilogue.regions[static_cast<size_t>(region)].extent;
  // A variable for each region: what was guarded by one region's end is not found by another.
  RegionColumns columns;
  columns.column = space_.add({.name = "column#" + std::to_string(region), .multiple_of = c_.plan.vector});
  columns.first = first;
  Val left = b.sub(c_.arguments.extent32(extent), b.convert(first, Ty::I32));
  columns.remaining = b.select(row_.inside, left, b.i32(-1));
  variables_[columns.column] = first;
  lanes_[columns.column] = {region, 0};
  regions_[region] = std::move(columns);
}

void Sm90RowFrame::open_single(int region, Val column) {
  NvptxBuilder& b = c_.b;
  const Dim& extent = c_.epilogue.regions[static_cast<size_t>(region)].extent;
  RegionColumns columns;
  columns.single = true;
  columns.column = space_.add({.name = "single#" + std::to_string(region)});
  columns.first = column;
  columns.remaining = b.sub(c_.arguments.extent32(extent), b.convert(column, Ty::I32));
  variables_[columns.column] = column;
  regions_[region] = std::move(columns);
}

const std::vector<Coord>& Sm90RowFrame::digits_at(int region, const ColumnSpace& columns, int slot) {
  RegionColumns& own = regions_.at(region);
  const auto known = own.digits.find(slot);
  if (known != own.digits.end()) return known->second;
  const std::vector<ColumnDigit>& wanted = columns.digits;
  std::vector<Coord> digits(wanted.size());
  Coord rest = Coord::variable(own.column) + Coord(slot);
  const int vector = c_.plan.vector;
  const auto inner = wanted.empty() ? std::nullopt : wanted.back().extent.constant();
  size_t left = wanted.size();
  if (left > 1 && !own.single && inner && *inner % vector == 0 && *inner > 0 && !space_.divide(rest, *inner)) {
    // A chunk lies within one of the inner digit's rounds: its slots are neighbours there too.
    const int base = slot - slot % vector;
    if (slot != base) {
      digits = digits_at(region, columns, base);
      digits.back() = digits.back() + Coord(slot - base);
      return regions_.at(region).digits[slot] = std::move(digits);
    }
    Emitter& e = c_.numbers.emitter();
    const Val value = evaluator_->value_of(rest), by = e.integer(*inner);
    const Val quotient = e.int_floordiv(value, by);
    const std::string name = "#" + std::to_string(region) + "#" + std::to_string(base);
    const VarId within = space_.add({.name = "within" + name, .bound = wanted.back().extent, .multiple_of = vector});
    const VarId round = space_.add({.name = "round" + name});
    variables_[within] = e.int_sub(value, e.int_mul(quotient, by));
    variables_[round] = quotient;
    lanes_[within] = {region, base};
    digits.back() = Coord::variable(within);
    rest = Coord::variable(round);
    --left;
  }
  while (left-- > 1) std::tie(rest, digits[left]) = evaluator_->divide(rest, wanted[left].extent);
  if (!wanted.empty()) digits[0] = rest;
  for (size_t i = 0; i < wanted.size(); ++i) space_.assume(digits[i], wanted[i].extent);
  return regions_.at(region).digits[slot] = std::move(digits);
}

Env Sm90RowFrame::at(int region, const ColumnSpace& columns, int slot) {
  const std::vector<Coord>& digits = digits_at(region, columns, slot);
  Env env = rows_;
  for (size_t i = 0; i < digits.size(); ++i) env.set(columns.digits[i].dim.name, digits[i]);
  return env;
}

Val Sm90RowFrame::inside(int region, int slot) {
  const Dim& extent = c_.epilogue.regions[static_cast<size_t>(region)].extent;
  const auto constant = extent.constant();
  const int64_t chunk = c_.plan.chunk_columns();
  if (constant && unrolled_ && *constant >= (slot / chunk + 1) * chunk) return {};
  if (constant && *constant % c_.plan.vector == 0) slot -= slot % c_.plan.vector;
  return row_inside(region, slot);
}

Val Sm90RowFrame::row_inside(int region, int slot) {
  NvptxBuilder& b = c_.b;
  return b.test(IntTest::Sge, b.add(regions_.at(region).remaining, -slot - 1), 0);
}

Val Sm90RowFrame::evaluate(int region, int slot, NodeId node, const Env& env) {
  region_ = region;
  slot_ = slot;
  return evaluator_->evaluate(node, env);
}

Val Sm90RowFrame::evaluate_real(int region, int slot, NodeId node, const Env& env) {
  region_ = region;
  slot_ = slot;
  return evaluator_->evaluate_real(node, env);
}

LiftedValue Sm90RowFrame::evaluate_lifted(int region, int slot, NodeId body, const Env& env) {
  region_ = region;
  slot_ = slot;
  return evaluator_->evaluate_lifted(body, env);
}

Val Sm90RowFrame::variable(VarId variable) {
  const auto known = variables_.find(variable);
  if (known != variables_.end()) return known->second;
  c_.fail("a coordinate of another place");
  return c_.b.i64(0);
}

Val Sm90RowFrame::scalar(int param) {
  NvptxBuilder& b = c_.b;
  Val word = c_.arguments.scalar(param);
  switch (info(c_.epilogue.program.params[static_cast<size_t>(param)].dtype).num_class) {
    case NumClass::Real:
      return c_.numbers.decode(b.convert(word, Ty::I32), DType::F32);
    case NumClass::Int:
      return word;
    case NumClass::Bool:
      return b.test(IntTest::Ne, word, 0);
  }
  return word;
}

// ---- memory ---------------------------------------------------------------------------------------------------------

void Sm90RowFrame::open_loads() { early_ = c_.b.mark(); }
void Sm90RowFrame::close_loads() {
  if (early_) c_.b.unmark(*early_);
  early_.reset();
}

bool Sm90RowFrame::known_early(std::span<const Coord> index) const {
  return std::all_of(index.begin(), index.end(), [&](const Coord& coordinate) {
    return std::all_of(coordinate.terms().begin(), coordinate.terms().end(), [&](const Coord::Term& term) {
      const auto lane = lanes_.find(term.variable);
      const bool row = rows_.all().size() > static_cast<size_t>(term.variable);
      const bool column = lane != lanes_.end() && regions_.at(lane->second.region).column == term.variable;
      return (row || column) && term.factor.denominator == 1;
    });
  });
}

Val Sm90RowFrame::early_value(const Coord& coordinate) {
  Val& known = early_values_[space_.to_text(coordinate)];
  if (known) return known;
  NvptxBuilder& b = c_.b;
  Val sum = coordinate.symbolic().is_zero() ? Val{} : c_.arguments.extent(coordinate.symbolic());
  for (const auto& [variable, factor] : coordinate.terms()) {
    Val term = b.mul(variables_.at(variable), factor.numerator);
    sum = sum ? b.add(sum, term) : term;
  }
  return known = sum ? b.add(sum, coordinate.constant()) : b.i64(coordinate.constant());
}

Val Sm90RowFrame::address(int param, std::span<const Coord> index, const std::function<Val(const Coord&)>& value) {
  NvptxBuilder& b = c_.b;
  const int bytes = info(c_.epilogue.program.params[static_cast<size_t>(param)].dtype).bits / 8;
  Val address = c_.arguments.pointer(param);
  for (size_t axis = 0; axis < index.size(); ++axis) {
    // The constant comes last, so that neighbours share the rest.
    const Coord rest = index[axis] - Coord(index[axis].constant());
    const bool last = axis + 1 == index.size();
    Val step = last ? b.i64(bytes) : b.mul(c_.arguments.stride(param, static_cast<int>(axis)), bytes);
    if (!(rest == Coord(0))) address = b.add(address, b.mul(value(rest), step));
    if (index[axis].constant() != 0) address = b.add(address, b.mul(step, index[axis].constant()));
  }
  return address;
}

std::optional<Sm90RowFrame::Unit> Sm90RowFrame::unit_at(std::span<const Coord> index, int bytes, int most) {
  if (index.empty()) return std::nullopt;
  const Coord& last = index.back();
  const int vector = c_.plan.vector;
  if (last.terms().size() != 1) return std::nullopt;
  const auto lane = lanes_.find(last.terms()[0].variable);
  if (lane == lanes_.end() || lane->second.region != region_) return std::nullopt;
  for (const Coord& other : index.first(index.size() - 1)) {
    if (other.factor_of(lane->first).numerator != 0) return std::nullopt;
  }
  // Slot base + k of the thread uses elements from up/down * k on.
  const int64_t up = last.terms()[0].factor.numerator, down = last.terms()[0].factor.denominator;
  const int64_t base = lane->second.slot, k = slot_ - base;
  if (up < 1 || vector % down != 0) return std::nullopt;
  const int64_t element = last.constant();
  const int64_t shift = element - floor_div(up * k, down);
  const int64_t origin = shift - floor_mod(shift, up);
  int64_t count = std::min<int64_t>({up * vector / down, kAccessBytes / bytes, most});
  count = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(std::max<int64_t>(count, 1))));
  count = std::gcd(std::gcd(count, up * vector / down), origin);
  if (count < 2 || count * bytes < 4) return std::nullopt;
  Unit unit;
  unit.place = static_cast<int>(floor_mod(element, count));
  unit.start.assign(index.begin(), index.end());
  unit.start.back() = last - Coord(unit.place);
  for (int64_t i = 0; i < count; ++i) {
    unit.slots.push_back(static_cast<int>(base + floor_div((element - unit.place + i - origin) * down, up)));
  }
  return unit;
}

std::optional<ConditionSpec> Sm90RowFrame::wide_condition(int param, const Unit& unit) const {
  const Param& p = c_.epilogue.program.params[static_cast<size_t>(param)];
  const auto elements = static_cast<int64_t>(unit.slots.size());
  ConditionSpec condition{.param = param, .unit_axis = static_cast<int>(p.dims.size()) - 1};
  condition.alignment = elements * info(p.dtype).bits / 8;
  condition.extent_multiple = c_.plan.vector;
  const Dim& columns = c_.epilogue.regions[static_cast<size_t>(region_)].extent;
  for (const Dim& extent : {columns, unit.start.back().symbolic()}) {
    if (const auto constant = extent.constant()) {
      if (*constant % c_.plan.vector != 0) return std::nullopt;
      continue;
    }
    if (std::find(condition.extents.begin(), condition.extents.end(), extent) == condition.extents.end()) {
      condition.extents.push_back(extent);
    }
  }
  return condition;
}

Val Sm90RowFrame::guard(int param, std::span<const Coord> index, Val predicate) {
  Val guard = predicate ? c_.b.both(row_.inside, predicate) : row_.inside;
  const auto& dims = c_.epilogue.program.params[static_cast<size_t>(param)].dims;
  bool of_columns = false;
  for (size_t axis = 0; axis < index.size(); ++axis) {
    bool computed = false;
    for (const auto& term : index[axis].terms()) {
      const bool row = rows_.all().size() > static_cast<size_t>(term.variable);
      const bool column = lanes_.contains(term.variable);
      of_columns = of_columns || column;
      computed = computed || (!row && !column);
    }
    // Where it is a computed value, only its own range tells: it may be asked for again from other slots.
    if (computed) guard = evaluator_->within(index[axis], Dim(0), dims[axis].extent, Val{guard});
  }
  if (!of_columns || region_ < 0) return guard;
  return c_.b.both(guard, row_inside(region_, slot_));
}

Val Sm90RowFrame::load(int param, std::span<const Coord> index, Val predicate) {
  NvptxBuilder& b = c_.b;
  const DType dtype = c_.epilogue.program.params[static_cast<size_t>(param)].dtype;
  if (info(dtype).bits < 8) {
    c_.fail("reading elements of type " + std::string(info(dtype).name));
    return c_.numbers.emitter().real(0);
  }
  const int bytes = info(dtype).bits / 8;
  const bool early = early_ && !predicate && known_early(index);
  const auto value = [&](const Coord& x) { return early ? early_value(x) : evaluator_->value_of(x); };
  const auto emit = [&](const std::function<void()>& body) { early ? b.at(*early_, body) : body(); };
  const auto unit = predicate || region_ < 0 ? std::nullopt : unit_at(index, bytes, kAccessBytes);
  const auto condition = unit ? wide_condition(param, *unit) : std::nullopt;
  if (!condition) {
    Val element;
    emit([&] {
      Val inside = guard(param, index, predicate);
      element = gpu::load_element(b, address(param, index, value), bytes, inside);
    });
    return c_.numbers.decode(element, dtype);
  }
  std::string key = std::to_string(param);
  for (const Coord& coordinate : unit->start) key += "," + space_.to_text(coordinate);
  std::vector<Val>& words = units_[key];
  if (words.empty()) {
    emit([&] {
      words = gpu::load_unit(b, {address(param, unit->start, value),
                                 bytes,
                                 unit->slots,
                                 c_.arguments.condition(*condition),
                                 regions_.at(region_).remaining,
                                 {}});
    });
  }
  return c_.numbers.decode_from(words, unit->place, dtype);
}

Sm90RowFrame::Element Sm90RowFrame::element(const Store& store, const Env& env, Val value, int slot) {
  const Program& program = c_.epilogue.program;
  const DType dtype = program.params[static_cast<size_t>(store.param)].dtype;
  const NumClass own = program.graph[store.value].num_class;
  Element element{.index = {}, .value = {}, .slot = slot};
  for (const AffineMap& map : store.index) element.index.push_back(evaluator_->apply(map, env));
  element.value = info(dtype).num_class == NumClass::Real ? evaluator_->convert(value, own, NumClass::Real)
                                                          : evaluator_->to_dtype(value, own, dtype);
  return element;
}

void Sm90RowFrame::store(int region, int param, std::span<const Element> elements) {
  NvptxBuilder& b = c_.b;
  const DType dtype = c_.epilogue.program.params[static_cast<size_t>(param)].dtype;
  if (info(dtype).bits < 8) return c_.fail("storing elements of type " + std::string(info(dtype).name));
  const int bytes = info(dtype).bits / 8;
  const auto value = [&](const Coord& x) { return evaluator_->value_of(x); };
  const auto follows = [](const Element& a, const Element& c) {
    const size_t last = a.index.size() - 1;
    return std::equal(a.index.begin(), a.index.end() - 1, c.index.begin()) && a.index[last] + Coord(1) == c.index[last];
  };
  region_ = region;
  while (!elements.empty()) {
    slot_ = elements[0].slot;
    size_t run = 1;
    while (run < elements.size() && follows(elements[run - 1], elements[run])) ++run;
    auto unit = unit_at(elements[0].index, bytes, static_cast<int>(std::bit_floor(run)));
    const bool whole = unit && unit->place == 0 && unit->slots.back() == elements[unit->slots.size() - 1].slot;
    const auto condition = whole ? wide_condition(param, *unit) : std::nullopt;
    const size_t count = condition ? unit->slots.size() : 1;
    Val at = address(param, elements[0].index, value);
    if (condition) {
      std::vector<Val> values;
      for (const Element& element : elements.first(count)) values.push_back(element.value);
      gpu::store_unit(b,
                      {at, bytes, unit->slots, c_.arguments.condition(*condition), regions_.at(region).remaining, {}},
                      c_.numbers.encode_words(values, dtype));
    } else {
      gpu::store_element(b, at, c_.numbers.encode(elements[0].value, dtype), bytes, row_inside(region, slot_));
    }
    elements = elements.subspan(count);
  }
}

void Sm90RowFrame::store_one(int param, const std::vector<AffineMap>& index, const Env& env, Val value,
                             NumClass num_class, Val predicate) {
  const DType dtype = c_.epilogue.program.params[static_cast<size_t>(param)].dtype;
  if (info(dtype).bits < 8) return c_.fail("storing elements of type " + std::string(info(dtype).name));
  std::vector<Coord> place;
  for (const AffineMap& map : index) place.push_back(evaluator_->apply(map, env));
  const Val stored = info(dtype).num_class == NumClass::Real ? evaluator_->convert(value, num_class, NumClass::Real)
                                                             : evaluator_->to_dtype(value, num_class, dtype);
  Val at = address(param, place, [&](const Coord& x) { return evaluator_->value_of(x); });
  gpu::store_element(c_.b, at, c_.numbers.encode(stored, dtype), info(dtype).bits / 8, predicate);
}

// ---- reductions within an element -----------------------------------------------------------------------------------

Val Sm90RowFrame::accumulator(const Coord&, const Coord&, Val) {
  c_.fail("an element of a product");
  return c_.numbers.emitter().real(0);
}

Val Sm90RowFrame::statistic(const Statistic& statistic, const Env&, Val) {
  const Val finished = statistics_[static_cast<size_t>(&statistic - c_.epilogue.statistics.data())];
  if (finished) return finished;
  c_.fail("a statistic before it is whole");
  return c_.numbers.emitter().real(0);
}

void Sm90RowFrame::reduce(const TileReduction& request, const Env& env, size_t axis, Val* state) {
  if (axis == request.over.size()) {
    request.reduction->emit_lift(c_.numbers.emitter(), request.body(env), state);
    return;
  }
  for (int64_t i = 0; i < *request.over[axis].extent.constant(); ++i) {
    Env inner = env;
    inner.set(request.over[axis].name, Coord(i));
    reduce(request, inner, axis + 1, state);
  }
}

void Sm90RowFrame::reduce_in_loops(const TileReduction& request, const Env& env, size_t axis, Val* state) {
  NvptxBuilder& b = c_.b;
  const int words = request.reduction->state_size;
  if (axis == request.over.size()) {
    // Values of a loop's body are forgotten with it: an evaluator of its own, which knows this one's variables.
    const Node& node = c_.epilogue.program.graph[request.node];
    std::unique_ptr<EpilogueEvaluator> outer = std::move(evaluator_);
    evaluator_ = std::make_unique<EpilogueEvaluator>(c_.epilogue, space_, c_.numbers.emitter(), *this);
    auto units = std::move(units_);
    units_.clear();
    const auto early = early_;
    early_.reset();
    LiftedValue x = evaluator_->evaluate_lifted(node.args[0], env, request.predicate);
    for (size_t i = 1; i < node.args.size(); ++i) {  // of a Contract, which lifts the product
      x.word[0] = c_.numbers.emitter().mul(x.word[0], evaluator_->evaluate_real(node.args[i], env, request.predicate));
    }
    if (!evaluator_->failure().empty()) c_.fail(evaluator_->failure());
    early_ = early;
    units_ = std::move(units);
    evaluator_ = std::move(outer);
    request.reduction->emit_lift(c_.numbers.emitter(), x, state);
    return;
  }
  const NamedDim& dim = request.over[axis];
  Val end = c_.arguments.extent(dim.extent);
  const VarId variable = space_.add({.name = dim.name, .bound = dim.extent});
  std::vector<Val> initial{b.i64(0)};
  initial.insert(initial.end(), state, state + words);
  const std::vector<Val> after = b.loop(
      "reduce", initial, [&](std::span<const Val> v) { return b.test(IntTest::Ult, v[0], end); },
      [&](std::span<const Val> v) {
        variables_[variable] = v[0];
        std::vector<Val> inner(v.begin() + 1, v.end());
        Env at = env;
        at.set(dim.name, Coord::variable(variable));
        reduce_in_loops(request, at, axis + 1, inner.data());
        inner.insert(inner.begin(), b.add(v[0], 1));
        return inner;
      });
  for (int w = 0; w < words; ++w) state[w] = after[static_cast<size_t>(w) + 1];
}

Val Sm90RowFrame::reduce_in_tile(const TileReduction& request) {
  Emitter& e = c_.numbers.emitter();
  std::vector<Val> state;
  for (int w = 0; w < request.reduction->state_size; ++w) state.push_back(e.real(request.reduction->identity[w]));
  std::optional<int64_t> elements = 1;
  Dim count(1);
  for (const NamedDim& dim : request.over) {
    const auto extent = dim.extent.constant();
    elements = elements && extent && *elements <= kMostUnrolled ? std::optional(*elements * *extent) : std::nullopt;
    count = count * dim.extent;
  }
  if (elements && *elements <= kMostUnrolled) {
    reduce(request, *request.env, 0, state.data());
  } else {
    // Coordinates that the loop's evaluator will ask this frame for.
    Env env;
    for (const auto& [name, coordinate] : request.env->all()) {
      const VarId variable = space_.add({.name = name});
      variables_[variable] = evaluator_->value_of(coordinate);
      env.set(name, Coord::variable(variable));
    }
    reduce_in_loops(request, env, 0, state.data());
  }
  return request.reduction->emit_finish(e, state.data(), e.int_to_real(c_.arguments.extent(count)));
}

void combine_row_lanes(Sm90RowContext& context, const Reduction& reduction, int lanes, Val* state) {
  for (int mask = 1; mask < lanes; mask *= 2) {
    std::vector<Val> other;
    for (int w = 0; w < reduction.state_size; ++w) other.push_back(gpu::shuffle_xor(context.b, state[w], mask));
    reduction.emit_combine(context.numbers.emitter(), state, other.data());
  }
}

}  // namespace coda
