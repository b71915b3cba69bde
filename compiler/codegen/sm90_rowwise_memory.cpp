// Loads and stores of a frame: neighbours at once, ahead of what needs them.
#include <algorithm>
#include <bit>
#include <numeric>

#include "compiler/codegen/sm90_rowwise_frame.h"

namespace coda {
namespace {

constexpr int kAccessBytes = 16;
/// Words of a thread that stay in registers for all rows, and that are read a row ahead.
constexpr int kMostKept = 64;
constexpr int kMostCarried = 32;

int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }
int64_t floor_mod(int64_t a, int64_t b) { return a - floor_div(a, b) * b; }

}  // namespace

void Sm90RowFrame::open_loads() {
  places_.push_back(c_.b.mark());
  early_ = places_.back();
}
void Sm90RowFrame::advance_loads() {
  places_.push_back(c_.b.mark());
  early_ = places_.back();
}
void Sm90RowFrame::close_loads() {
  for (const NvptxBuilder::Place& place : places_) c_.b.unmark(place);
  places_.clear();
  early_.reset();
}

bool Sm90RowFrame::known_early(std::span<const Coord> index) const {
  return std::all_of(index.begin(), index.end(), [&](const Coord& coordinate) {
    return std::all_of(coordinate.terms().begin(), coordinate.terms().end(), [&](const Coord::Term& term) {
      const auto lane = lanes_.find(term.variable);
      const bool row = rows_.all().size() > static_cast<size_t>(term.variable);
      const bool column = lane != lanes_.end() && regions_.at(lane->second.region).column == term.variable;
      return (row || column || early_variables_.contains(term.variable)) && term.factor.denominator == 1;
    });
  });
}

bool Sm90RowFrame::of_columns_alone(std::span<const Coord> index) const {
  return std::all_of(index.begin(), index.end(), [&](const Coord& coordinate) {
    return std::all_of(coordinate.terms().begin(), coordinate.terms().end(), [&](const Coord::Term& term) {
      return lanes_.contains(term.variable) || early_variables_.contains(term.variable);
    });
  });
}

bool Sm90RowFrame::of_this_row(int param, std::span<const Coord> index) const {
  if (c_.epilogue.program.params[static_cast<size_t>(param)].role != Param::Role::InOut) return true;
  // It is stored to: no other row's turn may see it.
  return std::all_of(rows_.all().begin(), rows_.all().end(), [&](const auto& row) {
    return std::any_of(index.begin(), index.end(), [&](const Coord& at) { return at == row.second; });
  });
}

Val Sm90RowFrame::value_of(const Coord& coordinate, const std::map<VarId, Val>& variables) {
  NvptxBuilder& b = c_.b;
  Val sum = coordinate.symbolic().is_zero() ? Val{} : c_.arguments.extent(coordinate.symbolic());
  for (const auto& [variable, factor] : coordinate.terms()) {
    Val term = b.mul(variables.at(variable), factor.numerator);
    sum = sum ? b.add(sum, term) : term;
  }
  return sum ? b.add(sum, coordinate.constant()) : b.i64(coordinate.constant());
}

Val Sm90RowFrame::early_value(const Coord& coordinate) {
  Val& known = early_values_[coordinate];
  if (!known) known = value_of(coordinate, variables_);
  return known;
}

Val Sm90RowFrame::address(int param, std::span<const Coord> index, const std::function<Val(const Coord&)>& value) {
  NvptxBuilder& b = c_.b;
  const int bytes = info(c_.epilogue.program.params[static_cast<size_t>(param)].dtype).bits / 8;
  Val address = c_.arguments.pointer(param);
  if (c_.epilogue.program.params[static_cast<size_t>(param)].layout == ParamLayout::Mx128x4) {
    return b.add(address, sm90_mx128x4_offset(b, value(index[0]), value(index[1]), c_.arguments.stride(param, 0)));
  }
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
  // One variable walks with the slots. Others may move all of a vector's slots by a multiple of what is accessed.
  auto lane = lanes_.end();
  Fraction along;
  int64_t apart = kAccessBytes;
  for (const Coord::Term& term : last.terms()) {
    const auto found = lanes_.find(term.variable);
    if (found != lanes_.end() && found->second.region == region_ && lane == lanes_.end()) {
      lane = found;
      along = term.factor;
    } else if (early_variables_.contains(term.variable) && term.factor.denominator == 1) {
      apart = std::gcd(apart, term.factor.numerator * space_.facts(term.variable).multiple_of);
    } else {
      return std::nullopt;
    }
  }
  if (lane == lanes_.end()) return std::nullopt;
  for (const Coord& other : index.first(index.size() - 1)) {
    if (other.factor_of(lane->first).numerator != 0) return std::nullopt;
  }
  // Slot base + k of the thread uses elements from up/down * k on.
  const int64_t up = along.numerator, down = along.denominator;
  const int64_t base = lane->second.slot, k = slot_ - base;
  if (up < 1 || vector % down != 0) return std::nullopt;
  const int64_t element = last.constant();
  const int64_t shift = element - floor_div(up * k, down);
  const int64_t origin = shift - floor_mod(shift, up);
  int64_t count = std::min<int64_t>({up * vector / down, kAccessBytes / bytes, most});
  count = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(std::max<int64_t>(count, 1))));
  count = std::gcd(std::gcd(std::gcd(count, up * vector / down), origin), apart);
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

gpu::Unit Sm90RowFrame::access(int param, const Unit& unit, const ConditionSpec& condition, const Whereabouts& at) {
  const int bytes = info(c_.epilogue.program.params[static_cast<size_t>(param)].dtype).bits / 8;
  gpu::Unit access{address(param, unit.start, at.value), bytes, unit.slots, {}, at.remaining, {}};
  if (c_.whole) {
    c_.whole->conditions |= c_.arguments.condition_bit(condition);
    access.predicate = column_guard(region_, unit.slots.front(), at.remaining, at.row_inside);
  } else {
    access.wide = c_.arguments.condition(condition);
  }
  return access;
}

std::vector<Val> Sm90RowFrame::read_unit(int param, const Unit& unit, const ConditionSpec& condition, bool early) {
  NvptxBuilder& b = c_.b;
  const RegionColumns& columns = regions_.at(region_);
  const auto read = [&](const Whereabouts& at) { return gpu::load_unit(b, access(param, unit, condition, at)); };
  const auto of = [&](const std::map<VarId, Val>& variables) {
    return [this, &variables](const Coord& x) { return value_of(x, variables); };
  };
  std::vector<Val> words;
  if (!early) return read({[&](const Coord& x) { return evaluator_->value_of(x); }, columns.remaining, row_.inside});
  if (turns_ && of_columns_alone(unit.start) && c_.kept_words < kMostKept) {
    b.at(*c_.before_rows, [&] { words = read({of(variables_), columns.left, b.i1(true)}); });
    c_.kept_words += static_cast<int>(words.size());
    return words;
  }
  if (turns_ && of_this_row(param, unit.start) && c_.carried_words < kMostCarried) {
    const auto read_of = [&](const Sm90Row& row) {
      std::map<VarId, Val> variables = variables_;
      for (size_t i = 0; i < row.digits.size(); ++i) {
        variables[rows_.all()[i].second.terms()[0].variable] = row.digits[i].second;
      }
      return read({of(variables), b.select(row.inside, columns.left, b.i32(-1)), row.inside});
    };
    std::vector<Val> next;
    b.at(*c_.before_rows, [&] { words = read_of(turns_->first); });
    b.at(*early_, [&] { next = read_of(turns_->next); });
    for (size_t i = 0; i < words.size(); ++i) {
      words[i] = b.carry(words[i]);
      b.carry_on(words[i], next[i]);
    }
    c_.carried_words += static_cast<int>(words.size());
    return words;
  }
  b.at(*early_, [&] {
    words = read({[&](const Coord& x) { return early_value(x); }, columns.remaining, row_.inside});
  });
  return words;
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
  std::vector<Val>& words = units_[{param, unit->start}];
  if (words.empty()) words = read_unit(param, *unit, *condition, early);
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
    const bool row_major = c_.epilogue.program.params[static_cast<size_t>(param)].layout == ParamLayout::RowMajor;
    while (row_major && run < elements.size() && follows(elements[run - 1], elements[run])) ++run;
    auto unit = row_major ? unit_at(elements[0].index, bytes, static_cast<int>(std::bit_floor(run))) : std::nullopt;
    const bool whole = unit && unit->place == 0 && unit->slots.back() == elements[unit->slots.size() - 1].slot;
    const auto condition = whole ? wide_condition(param, *unit) : std::nullopt;
    const size_t count = condition ? unit->slots.size() : 1;
    if (condition) {
      std::vector<Val> values;
      for (const Element& element : elements.first(count)) values.push_back(element.value);
      gpu::store_unit(b, access(param, *unit, *condition, {value, regions_.at(region).remaining, row_.inside}),
                      c_.numbers.encode_words(values, dtype));
    } else {
      Val at = address(param, elements[0].index, value);
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

}  // namespace coda
