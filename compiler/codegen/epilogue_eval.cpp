#include "compiler/codegen/epilogue_eval.h"

#include <algorithm>
#include <cmath>

#include "compiler/ir/meaning.h"

namespace coda {

namespace {

/// Digits of a Put, outermost (largest stride) first; symbolic strides are ordered by divisibility.
std::vector<AffineMap::Term> outermost_first(const AffineMap& map) {
  std::vector<AffineMap::Term> terms = map.terms;
  std::stable_sort(terms.begin(), terms.end(), [](const AffineMap::Term& a, const AffineMap::Term& b) {
    const auto ca = a.stride.constant(), cb = b.stride.constant();
    if (ca && cb) return *ca > *cb;
    if (ca || cb) return !ca;
    const auto quotient = a.stride.divided_by(b.stride);
    return a.stride != b.stride && quotient && quotient->is_integral() &&
           b.stride.text().find('/') == std::string::npos;
  });
  return terms;
}

}  // namespace

size_t EpilogueEvaluator::KeyHash::operator()(const Key& key) const {
  size_t h = static_cast<size_t>(key.node) * 0x9E3779B97F4A7C15u ^ reinterpret_cast<size_t>(key.predicate);
  for (const int c : key.coordinates) h = (h ^ static_cast<size_t>(c)) * 0x100000001B3u + (h >> 31);
  return h;
}

EpilogueEvaluator::EpilogueEvaluator(const EpilogueProgram& epilogue, CoordSpace& space, Emitter& emitter,
                                     EvalHooks& hooks)
    : epilogue_(epilogue), graph_(epilogue.program.graph), space_(space), emitter_(emitter), hooks_(hooks) {
  for (const Statistic& statistic : epilogue.statistics) statistics_[statistic.node] = &statistic;
}

void EpilogueEvaluator::fail(std::string reason) {
  if (failure_.empty()) failure_ = std::move(reason);
}

// ---- coordinates ----------------------------------------------------------------------------------------------------

int EpilogueEvaluator::intern(const Coord& coordinate) {
  return interned_.try_emplace(coordinate, static_cast<int>(interned_.size())).first->second;
}

Val EpilogueEvaluator::value_of(const Coord& coordinate) {
  // What differs by a constant only shares the rest.
  if (coordinate.constant() != 0 && !coordinate.as_constant()) {
    const Val rest = value_of(coordinate - Coord(coordinate.constant()));
    return emitter_.int_add(rest, emitter_.integer(coordinate.constant()));
  }
  if (const auto constant = coordinate.as_constant()) return emitter_.integer(*constant);
  const int id = intern(coordinate);
  if (const auto it = values_.find(id); it != values_.end()) return it->second;
  Val sum = coordinate.symbolic().is_zero() ? Val{} : hooks_.extent(coordinate.symbolic());
  for (const auto& [variable, factor] : coordinate.terms()) {  // older, outer variables first
    const auto own = bound_.find(variable);
    Val term = own != bound_.end() ? own->second : hooks_.variable(variable);
    if (factor.denominator != 1) term = emitter_.int_floordiv(term, emitter_.integer(factor.denominator));
    if (factor.numerator != 1) term = emitter_.int_mul(term, emitter_.integer(factor.numerator));
    sum = sum ? emitter_.int_add(sum, term) : term;
  }
  values_[id] = sum;
  return sum;
}

Coord EpilogueEvaluator::bind(Val value, VarFacts facts) {
  const VarId variable = space_.add(std::move(facts));
  bound_[variable] = value;
  return Coord::variable(variable);
}

Coord EpilogueEvaluator::apply(const AffineMap& map, const Env& env) {
  Coord result = Coord::of(map.offset);
  for (const auto& [dim, stride] : map.terms) {
    const Coord* coordinate = env.find(dim.name);
    if (!coordinate) {
      fail("no coordinate for dimension '" + dim.name + "'");
      return result;
    }
    if (const auto product = coordinate->times(stride)) {
      result = result + *product;
    } else {
      result = result + bind(emitter_.int_mul(value_of(*coordinate), hooks_.extent(stride)));
    }
  }
  return result;
}

std::pair<Coord, Coord> EpilogueEvaluator::divide(const Coord& coordinate, const Dim& divisor) {
  if (const auto constant = divisor.constant(); constant && *constant > 0) {
    if (const auto affine = space_.divide(coordinate, *constant)) return *affine;
  }
  if (space_.inside(coordinate, Dim(0), divisor) == Answer::Yes) return {Coord(0), coordinate};
  const Key key{kNoNode, nullptr, {intern(coordinate), intern(Coord::of(divisor))}};
  if (const auto it = divided_.find(key); it != divided_.end()) return it->second;
  const Val value = value_of(coordinate), by = value_of(Coord::of(divisor));
  const Val quotient = emitter_.int_floordiv(value, by);
  std::pair<Coord, Coord> result{bind(quotient, {.name = "quotient"}), {}};
  if (const auto known = divisor.constant()) {  // so that what puts the digits together again is the coordinate
    result.second = coordinate - result.first * *known;
    space_.assume(result.second, divisor);
  } else {
    const Val rest = emitter_.int_sub(value, emitter_.int_mul(quotient, by));
    result.second = bind(rest, {.name = "rest", .bound = divisor});
  }
  divided_[key] = result;
  return result;
}

Val EpilogueEvaluator::both(Val a, Val b) {
  if (!a) return b;
  return b && a.handle != b.handle ? emitter_.logical_and(a, b) : a;
}

Val EpilogueEvaluator::within(const Coord& coordinate, const Dim& low, const Dim& length, Val predicate) {
  const Val shifted = value_of(low.is_zero() ? coordinate : coordinate - Coord::of(low));
  const Val not_below = emitter_.compare(Compare::Ge, shifted, emitter_.integer(0), NumClass::Int);
  const Val below = emitter_.compare(Compare::Lt, shifted, value_of(Coord::of(length)), NumClass::Int);
  return both(predicate, emitter_.logical_and(not_below, below));
}

Answer EpilogueEvaluator::demand_inside(const Coord& coordinate, const Dim& length, Val& predicate) {
  const Answer answer = space_.inside(coordinate, Dim(0), length);
  if (answer == Answer::Unknown) predicate = within(coordinate, Dim(0), length, predicate);
  return answer;
}

Answer EpilogueEvaluator::digits(const Coord& coordinate, std::span<const Digit> wanted, std::vector<Coord>& out,
                                 Val& predicate) {
  Answer answer = Answer::Yes;
  Coord rest = coordinate;
  const auto demand = [&](const Coord& value, const Dim& length) {
    const Answer found = demand_inside(value, length, predicate);
    if (found != Answer::Yes && answer != Answer::No) answer = found;
    return found != Answer::No;
  };
  std::optional<Dim> below;  // rest is, after a division
  for (const Digit& digit : wanted) {
    std::pair<Coord, Coord> parts{rest, Coord(0)};
    if (digit.stride.constant() != 1) parts = divide(rest, digit.stride);
    if (below && digit.extent * digit.stride == *below) space_.assume(parts.first, digit.extent);
    below = digit.stride;
    if (!demand(parts.first, digit.extent)) return Answer::No;
    out.push_back(parts.first);
    rest = parts.second;
  }
  if (rest.as_constant() != 0 && !demand(rest, Dim(1))) return Answer::No;
  return answer;
}

void EpilogueEvaluator::bind_rows(const Coord& row, Env& env) { bind_rows(epilogue_.rows, row, env); }

void EpilogueEvaluator::bind_group(const Coord& group, Env& env) {
  bind_rows({epilogue_.rows.begin(), epilogue_.rows.begin() + epilogue_.kept}, group, env);
}

void EpilogueEvaluator::bind_rows(const std::vector<NamedDim>& dims, const Coord& row, Env& env) {
  BoundRow bound{std::vector<Coord>(dims.size()), row};
  Coord rest = row;
  for (size_t i = dims.size(); i-- > 0;) {
    if (i == 0) {
      bound.digits[i] = rest;
    } else {
      std::tie(rest, bound.digits[i]) = divide(rest, dims[i].extent);
    }
    space_.assume(bound.digits[i], dims[i].extent);
    env.set(dims[i].name, bound.digits[i]);
  }
  rows_.push_back(std::move(bound));
}

Coord EpilogueEvaluator::row_of(const Env& env) { return row_of(epilogue_.rows, env); }

Coord EpilogueEvaluator::group_of(const Env& env) {
  return row_of({epilogue_.rows.begin(), epilogue_.rows.begin() + epilogue_.kept}, env);
}

Coord EpilogueEvaluator::row_of(const std::vector<NamedDim>& dims, const Env& env) {
  std::vector<Coord> digits;
  for (const NamedDim& dim : dims) {
    const Coord* coordinate = env.find(dim.name);
    if (!coordinate) {
      fail("no coordinate for row dimension '" + dim.name + "'");
      return {};
    }
    digits.push_back(*coordinate);
  }
  for (auto it = rows_.rbegin(); it != rows_.rend(); ++it) {
    if (it->digits == digits) return it->row;
  }
  Coord row;
  for (size_t i = 0; i < digits.size(); ++i) {
    const Dim& extent = dims[i].extent;
    const auto scaled = row.times(extent);
    row = (scaled ? *scaled : bind(emitter_.int_mul(value_of(row), hooks_.extent(extent)))) + digits[i];
  }
  return row;
}

Answer EpilogueEvaluator::bind_columns(const ColumnSpace& columns, const Coord& column, Env& env, Val& predicate) {
  std::vector<Digit> wanted;
  for (const ColumnDigit& digit : columns.digits) wanted.push_back({digit.extent, digit.stride});
  std::vector<Coord> found;
  const Answer answer = digits(column - Coord(columns.phase), wanted, found, predicate);
  if (answer == Answer::No) return answer;
  for (size_t i = 0; i < found.size(); ++i) {
    env.set(columns.digits[i].dim.name, found[i] + Coord::of(columns.digits[i].offset));
  }
  return answer;
}

// ---- nodes ----------------------------------------------------------------------------------------------------------

Val EpilogueEvaluator::evaluate(NodeId id, const Env& env, Val predicate) {
  const Node& node = graph_[id];
  if (node.kind == NodeKind::Constant) {
    if (node.num_class == NumClass::Real) return emitter_.real(node.value);
    if (node.num_class == NumClass::Bool) return emitter_.boolean(node.value != 0);
    return emitter_.integer(static_cast<int64_t>(node.value));
  }
  Key key{id, predicate.handle, {}};
  key.coordinates.reserve(node.dims.size());
  for (const NamedDim& dim : node.dims) {
    const Coord* coordinate = env.find(dim.name);
    if (!coordinate) {
      fail("no coordinate for dimension '" + dim.name + "'");
      return zero(node.num_class);
    }
    key.coordinates.push_back(intern(*coordinate));
  }
  if (const auto it = memo_.find(key); it != memo_.end()) return it->second;
  const Val value = compute(id, env, predicate);
  memo_.emplace(std::move(key), value);
  return value;
}

Val EpilogueEvaluator::evaluate_real(NodeId node, const Env& env, Val predicate) {
  return convert(evaluate(node, env, predicate), graph_[node].num_class, NumClass::Real);
}

LiftedValue EpilogueEvaluator::evaluate_lifted(NodeId body, const Env& env, Val predicate) {
  LiftedValue lifted;
  int word = 0;
  for (const NodeId part : lifted_parts(graph_, body)) lifted.word[word++] = evaluate_real(part, env, predicate);
  return lifted;
}

Val EpilogueEvaluator::compute(NodeId id, const Env& env, Val predicate) {
  const Node& node = graph_[id];
  if (id == epilogue_.accumulator) {
    return hooks_.accumulator(row_of(env), *env.find(epilogue_.column.name), predicate);
  }
  if (const auto it = statistics_.find(id); it != statistics_.end() && hooks_.is_whole(*it->second)) {
    return hooks_.statistic(*it->second, env, predicate);
  }
  switch (node.kind) {
    case NodeKind::Input:
      return compute_input(node, env, predicate);
    case NodeKind::Constant:
      break;
    case NodeKind::Index:
      return value_of(*env.find(node.dim.name));
    case NodeKind::Extent:
      return value_of(Coord::of(node.map.offset));
    case NodeKind::Contract:
      return node.over.empty() ? compute_product(node, env, predicate) : compute_reduction(id, env, predicate);
    case NodeKind::Sum:
      return compute_sum(node, env, predicate);
    case NodeKind::Apply:
      return compute_apply(node, env, predicate);
    case NodeKind::View: {
      Env inner = env;
      inner.set(node.dim.name, apply(node.map, env));
      return evaluate(node.args[0], inner, predicate);
    }
    case NodeKind::Put:
      return compute_put(node, env, predicate);
    case NodeKind::Reduce:
      return compute_reduction(id, env, predicate);
    case NodeKind::Gather:
      return compute_gather(node, env, predicate);
    case NodeKind::Cast:
      return to_dtype(evaluate(node.args[0], env, predicate), graph_[node.args[0]].num_class, node.dtype);
  }
  fail("a node of unknown kind");
  return zero(node.num_class);
}

Val EpilogueEvaluator::compute_input(const Node& node, const Env& env, Val predicate) {
  const Param& param = epilogue_.program.params[node.param];
  if (param.role == Param::Role::Scalar) return hooks_.scalar(node.param);
  std::vector<Coord> index;
  for (const NamedDim& dim : param.dims) index.push_back(*env.find(dim.name));
  return hooks_.load(node.param, index, predicate);
}

Val EpilogueEvaluator::compute_product(const Node& node, const Env& env, Val predicate) {
  const bool whole = node.num_class == NumClass::Int;
  const auto times = [&](Val a, Val b) { return !a ? b : whole ? emitter_.int_mul(a, b) : emitter_.mul(a, b); };
  Val product;
  for (const std::vector<NodeId>& group : factor_groups(node)) {
    Val part;
    for (const NodeId arg : group) {
      part = times(part, whole ? evaluate(arg, env, predicate) : evaluate_real(arg, env, predicate));
    }
    product = times(product, part);
  }
  return product ? product : whole ? emitter_.integer(1) : emitter_.real(1);
}

std::vector<std::vector<NodeId>> EpilogueEvaluator::factor_groups(const Node& node) const {
  const auto within = [](const std::vector<NamedDim>& inner, const std::vector<NamedDim>& outer) {
    return std::all_of(inner.begin(), inner.end(),
                       [&](const NamedDim& dim) { return std::find(outer.begin(), outer.end(), dim) != outer.end(); });
  };
  std::vector<NodeId> factors = node.args;
  std::stable_sort(factors.begin(), factors.end(),
                   [&](NodeId a, NodeId b) { return graph_[a].dims.size() > graph_[b].dims.size(); });
  std::vector<std::vector<NodeId>> groups;
  for (const NodeId factor : factors) {
    // With the narrowest that has its dimensions.
    const auto home = std::find_if(groups.rbegin(), groups.rend(), [&](const std::vector<NodeId>& group) {
      return within(graph_[factor].dims, graph_[group[0]].dims);
    });
    const bool is_scalar = graph_[factor].dims.empty() && groups.size() > 1;
    const auto wider = [&] { return graph_[home->front()].dims.size() > graph_[factor].dims.size(); };
    if (home == groups.rend() || (wider() && !is_scalar)) {
      groups.push_back({factor});
    } else {
      home->push_back(factor);
    }
  }
  return groups;
}

Val EpilogueEvaluator::compute_sum(const Node& node, const Env& env, Val predicate) {
  Val sum;
  if (node.num_class == NumClass::Int) {
    for (size_t i = 0; i < node.args.size(); ++i) {
      const auto coefficient = static_cast<int64_t>(node.coefficients[i]);
      Val term = evaluate(node.args[i], env, predicate);
      if (coefficient != 1) term = emitter_.int_mul(term, emitter_.integer(coefficient));
      sum = sum ? emitter_.int_add(sum, term) : term;
    }
    return sum ? sum : emitter_.integer(0);
  }
  for (size_t i = 0; i < node.args.size(); ++i) {
    const double coefficient = node.coefficients[i];
    const Val term = evaluate_real(node.args[i], env, predicate);
    if (coefficient == 1) {
      sum = sum ? emitter_.add(sum, term) : term;
    } else if (coefficient == -1) {
      sum = sum ? emitter_.sub(sum, term) : emitter_.neg(term);
    } else {
      const Val factor = emitter_.real(coefficient);
      sum = sum ? emitter_.fma(factor, term, sum) : emitter_.mul(factor, term);
    }
  }
  return sum ? sum : emitter_.real(0);
}

Val EpilogueEvaluator::compute_apply(const Node& node, const Env& env, Val predicate) {
  const NumClass wanted = argument_class(graph_, *node.op, node.args);
  std::vector<Val> args;
  for (size_t i = 0; i < node.args.size(); ++i) {
    const Val value = evaluate(node.args[i], env, predicate);
    const NumClass own = graph_[node.args[i]].num_class;
    const bool is_condition = node.op->rule == ClassRule::Select && i == 0;
    args.push_back(convert(value, own, is_condition ? NumClass::Bool : wanted));
  }
  return node.op->emit(emitter_, args, wanted);
}

Val EpilogueEvaluator::compute_put(const Node& node, const Env& env, Val predicate) {
  const std::vector<AffineMap::Term> terms = outermost_first(node.map);
  std::vector<Digit> wanted;
  for (const auto& [dim, stride] : terms) wanted.push_back({dim.extent, stride});
  std::vector<Coord> found;
  Val inner_predicate = predicate;
  const Coord place = *env.find(node.dim.name) - Coord::of(node.map.offset);
  const Answer answer = digits(place, wanted, found, inner_predicate);
  if (answer == Answer::No) return zero(node.num_class);
  Env inner = env;
  inner.erase(node.dim.name);
  for (size_t i = 0; i < found.size(); ++i) inner.set(terms[i].dim.name, found[i]);
  const Val value = evaluate(node.args[0], inner, inner_predicate);
  return answer == Answer::Yes ? value : emitter_.select(inner_predicate, value, zero(node.num_class));
}

Val EpilogueEvaluator::compute_gather(const Node& node, const Env& env, Val predicate) {
  const NodeId index = node.args[1];
  const Val at = convert(evaluate(index, env, predicate), graph_[index].num_class, NumClass::Int);
  const Coord place = bind(at, {.name = "gathered"});
  const Val inner_predicate = within(place, Dim(0), node.dim.extent, predicate);
  space_.assume(place, node.dim.extent);  // used under the predicate only
  Env inner = env;
  inner.set(node.dim.name, place);
  const Val value = evaluate(node.args[0], inner, inner_predicate);
  return emitter_.select(inner_predicate, value, zero(node.num_class));
}

Val EpilogueEvaluator::compute_reduction(NodeId id, const Env& env, Val predicate) {
  const Node& node = graph_[id];
  const bool is_sum = node.kind == NodeKind::Contract;
  if (node.num_class == NumClass::Int && is_sum) fail("a sum of whole numbers in a tile");
  Env own;  // nothing but the node's dimensions: `over` may reuse a name of an outer one
  for (const NamedDim& dim : node.dims) own.set(dim.name, *env.find(dim.name));
  const auto body = [this, &node, is_sum](const Env& inner, Val needed) {
    return is_sum ? LiftedValue{{compute_product(node, inner, needed)}} : evaluate_lifted(node.args[0], inner, needed);
  };
  const Reduction* reduction = is_sum ? find_reduction("sum") : node.reduction;
  const Val value = hooks_.reduce_in_tile({id, reduction, node.over, &own, body, predicate});
  return is_sum ? value : convert(value, reduction->result, node.num_class);
}

// ---- classes and types ----------------------------------------------------------------------------------------------

Val EpilogueEvaluator::zero(NumClass num_class) {
  if (num_class == NumClass::Real) return emitter_.real(0);
  return num_class == NumClass::Int ? emitter_.integer(0) : emitter_.boolean(false);
}

Val EpilogueEvaluator::convert(Val value, NumClass from, NumClass to) {
  if (from == to) return value;
  switch (to) {
    case NumClass::Real:
      return from == NumClass::Int ? emitter_.int_to_real(value) : emitter_.bool_to_real(value);
    case NumClass::Int:
      return from == NumClass::Real ? emitter_.real_to_int(value) : emitter_.bool_to_int(value);
    case NumClass::Bool:
      return emitter_.compare(Compare::Ne, value, zero(from), from);
  }
  return value;
}

Val EpilogueEvaluator::to_dtype(Val value, NumClass from, DType dtype) {
  const DTypeInfo& type = info(dtype);
  const Val converted = convert(value, from, type.num_class);
  if (type.num_class == NumClass::Real) return dtype == DType::F32 ? converted : emitter_.round_to(converted, dtype);
  if (type.num_class == NumClass::Bool || type.bits == 64 || from == NumClass::Bool) return converted;
  const Val high = emitter_.integer(static_cast<int64_t>(type.max_finite));
  const Val low = emitter_.integer(dtype == DType::U8 ? 0 : -static_cast<int64_t>(type.max_finite) - 1);
  const Val floor = emitter_.select(emitter_.compare(Compare::Lt, converted, low, NumClass::Int), low, converted);
  return emitter_.select(emitter_.compare(Compare::Gt, floor, high, NumClass::Int), high, floor);
}

}  // namespace coda
