#include "compiler/codegen/sm90_rowwise_frame.h"

#include <algorithm>

namespace coda {
namespace {

/// Elements of a reduction within an element that are written out rather than visited in a loop.
constexpr int64_t kMostUnrolled = 32;

}  // namespace

Sm90RowFrame::Sm90RowFrame(Sm90RowContext& context, const Sm90Row& row, const std::vector<Val>& statistics,
                           bool unrolled, const Sm90RowTurns* turns)
    : c_(context), row_(row), statistics_(statistics), unrolled_(unrolled), turns_(turns) {
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
  const auto count = [&] { columns.left = b.sub(c_.arguments.extent32(extent), b.convert(first, Ty::I32)); };
  turns_ ? b.at(*c_.before_rows, count) : count();
  columns.remaining = b.select(row_.inside, columns.left, b.i32(-1));
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
    const std::string name = "#" + std::to_string(region) + "#" + std::to_string(base);
    const VarId within = space_.add({.name = "within" + name, .bound = wanted.back().extent, .multiple_of = vector});
    const VarId round = space_.add({.name = "round" + name});
    const auto take_apart = [&] {
      Emitter& e = c_.numbers.emitter();
      const Val value = early_ ? value_of(rest, variables_) : evaluator_->value_of(rest), by = e.integer(*inner);
      const Val quotient = e.int_floordiv(value, by);
      variables_[within] = e.int_sub(value, e.int_mul(quotient, by));
      variables_[round] = quotient;
    };
    if (early_) {
      c_.b.at(turns_ ? *c_.before_rows : *early_, take_apart);
      early_variables_.insert({within, round});
    } else {
      take_apart();
    }
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

bool Sm90RowFrame::covered(int region, int slot) const {
  const int64_t chunk = c_.plan.chunk_columns();
  const int64_t whole = c_.whole ? c_.whole->columns[static_cast<size_t>(region)] : 0;
  if (c_.whole && c_.plan.shares_rows) return whole > 0;
  const auto constant = c_.epilogue.regions[static_cast<size_t>(region)].extent.constant();
  const int64_t known = constant.value_or(whole);
  return unrolled_ && known >= (slot / chunk + 1) * chunk;
}

Val Sm90RowFrame::column_guard(int region, int slot, Val remaining, Val row_inside) const {
  if (covered(region, slot)) return row_inside;
  const auto constant = c_.epilogue.regions[static_cast<size_t>(region)].extent.constant();
  if (c_.whole || (constant && *constant % c_.plan.vector == 0)) slot -= slot % c_.plan.vector;
  return c_.b.test(IntTest::Sge, c_.b.add(remaining, -slot - 1), 0);
}

Val Sm90RowFrame::inside(int region, int slot) { return covered(region, slot) ? Val{} : row_inside(region, slot); }

Val Sm90RowFrame::row_inside(int region, int slot) {
  return column_guard(region, slot, regions_.at(region).remaining, row_.inside);
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
    request.reduction->emit_lift(c_.numbers.emitter(), request.body(env, request.predicate), state);
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
