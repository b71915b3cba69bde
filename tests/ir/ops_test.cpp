// Every op record is complete, its f64 meaning agrees with an outside library, and its code agrees with its meaning:
// over its domain within the stated error, and exactly in kind at zeros, infinities, NaN and subnormals.
#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <limits>
#include <random>
#include <set>
#include <sstream>

#include "compiler/ir/meaning.h"
#include "compiler/ops/op.h"
#include "scalar_emitter.h"
#include "tests/source_root.h"

using namespace coda;
using namespace coda::test;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<std::vector<double>> oracle(std::string_view name) {
  std::ifstream file(source_root() + "/tests/ir/oracle/" + std::string(name) + ".txt");
  std::vector<std::vector<double>> rows;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    rows.emplace_back();
    for (std::string word; words >> word;) rows.back().push_back(std::strtod(word.c_str(), nullptr));
  }
  return rows;
}

/// The classes an op's arguments may be brought to, and the class of its result.
std::vector<std::pair<NumClass, NumClass>> classes(const Op& op) {
  using enum NumClass;
  switch (op.rule) {
    case ClassRule::Real:
      return {{Real, Real}};
    case ClassRule::Int:
      return {{Int, Int}};
    case ClassRule::Same:
      return {{Real, Real}, {Int, Int}};
    case ClassRule::Compare:
      return {{Real, Bool}, {Int, Bool}};
    case ClassRule::Logical:
      return {{Bool, Bool}};
    case ClassRule::Select:
      return {{Real, Real}, {Int, Int}, {Bool, Bool}};
    case ClassRule::ToReal:
      return {{Real, Real}, {Int, Real}, {Bool, Real}};
    case ClassRule::ToInt:
      return {{Real, Int}, {Int, Int}, {Bool, Int}};
  }
  return {};
}

double emitted(const Op& op, std::span<const double> args, NumClass num_class, NumClass result, int error = 0,
               int* traps = nullptr, bool approximate = false) {
  ScalarEmitter emitter(error, approximate);
  std::vector<Val> vals;
  for (size_t i = 0; i < args.size(); ++i) {
    const bool is_condition = op.rule == ClassRule::Select && i == 0;
    vals.push_back(emitter.of(args[i], is_condition ? NumClass::Bool : num_class));
  }
  const Val val = op.emit(emitter, vals, num_class);
  if (traps != nullptr) *traps += emitter.traps;
  return ScalarEmitter::value_of(val, result);
}

/// |got - want| in units of 2^-23 of the wanted value, absolute below 2^-23.
double error_units(double got, double want) {
  if (got == want || (std::isnan(got) && std::isnan(want))) return 0;
  if (!std::isfinite(got) || !std::isfinite(want)) return kInfinity;
  return std::fabs(got - want) / (0x1p-23 * std::max(std::fabs(want), 0x1p-23));
}

std::vector<double> sample(const Op& op, NumClass num_class, std::mt19937& random) {
  std::vector<double> args;
  for (int i = 0; i < op.arity; ++i) {
    std::uniform_real_distribution<double> uniform(op.domain_low, op.domain_high);
    double x = static_cast<float>(uniform(random));
    if (random() % 4 == 0) {  // near zero, or near the low end, on a logarithmic scale
      const double near = std::exp(-std::uniform_real_distribution<double>(0, 12)(random)) * op.domain_high;
      x = static_cast<float>(std::max(near, op.domain_low));
      if (op.domain_low < 0 && random() % 2 == 0) x = static_cast<float>(std::max(-near, op.domain_low));
    }
    if (num_class == NumClass::Int) x = static_cast<double>(static_cast<int64_t>(random() % 41)) - 20;
    if (num_class == NumClass::Bool || (op.rule == ClassRule::Select && i == 0)) x = static_cast<double>(random() % 2);
    args.push_back(x);
  }
  return args;
}

std::string show(std::span<const double> args) {
  std::ostringstream text;
  text.precision(9);
  for (const double arg : args) text << arg << " ";
  return text.str();
}

}  // namespace

TEST_CASE("every op and reduction is documented, complete and found by its name") {
  std::set<std::string_view> names;
  for (const Op* op : op_table()) {
    INFO(op->name);
    CHECK(names.insert(op->name).second);
    CHECK(find_op(op->name) == op);
    CHECK((op->arity >= 1 && op->arity <= 3));
    CHECK(std::string(op->doc).ends_with("."));
    CHECK_FALSE(op->example.empty());
    REQUIRE(op->eval != nullptr);
    REQUIRE(op->emit != nullptr);
    CHECK(op->domain_low < op->domain_high);
  }
  CHECK(find_op("silu") == nullptr);
  names.clear();
  for (const Reduction* reduction : reduction_table()) {
    INFO(reduction->name);
    CHECK(names.insert(reduction->name).second);
    CHECK(find_reduction(reduction->name) == reduction);
    CHECK(std::string(reduction->doc).ends_with("."));
    CHECK_FALSE(reduction->example.empty());
    CHECK((reduction->state_size >= 1 && reduction->state_size <= kMaxStateWords));
    for (const bool is_set : {reduction->lift_value != nullptr, reduction->combine_states != nullptr,
                              reduction->finish_state != nullptr, reduction->emit_lift_value != nullptr,
                              reduction->emit_combine_states != nullptr, reduction->emit_finish_state != nullptr}) {
      REQUIRE(is_set);
    }
  }
  CHECK(names == std::set<std::string_view>{"sum", "mean", "max", "min", "absmax", "prod", "logsumexp", "any", "all"});
}

TEST_CASE("the f64 meaning of every numeric op agrees with an outside library") {
  for (const Op* op : op_table()) {
    if (op->rule != ClassRule::Real && op->rule != ClassRule::Same) continue;
    INFO(op->name);
    const auto rows = oracle(op->name);
    REQUIRE(rows.size() >= 28);
    for (const auto& row : rows) {
      REQUIRE(row.size() == static_cast<size_t>(op->arity) + 1);
      const double value = op->eval(std::span(row).first(row.size() - 1));
      INFO(show(row) << "-> " << value);
      CHECK(std::fabs(value - row.back()) <= 4e-16 * std::fabs(row.back()));
    }
  }
}

TEST_CASE("an op's code agrees with its meaning within the stated error") {
  for (const int error : {0, 2}) {
    for (const Op* op : op_table()) {
      for (const auto& [num_class, result] : classes(*op)) {
        std::mt19937 random(3);
        double worst = 0;
        std::string where;
        for (int i = 0; i < 20000; ++i) {
          const std::vector<double> args = sample(*op, num_class, random);
          const double want = apply_op(*op, args, result);
          const double units = error_units(emitted(*op, args, num_class, result, error), want);
          if (units > worst) worst = units, where = show(args);
        }
        INFO(op->name << ", class " << static_cast<int>(num_class) << ", machine error " << error << ": " << worst
                      << " units at " << where);
        // A machine with inexact special functions may use up what the op states; an exact one stays well inside.
        CHECK(worst <= (error == 0 ? std::min(op->ulp, 2.0) : op->ulp) + 0.5);
      }
    }
  }
}

TEST_CASE("an op's approximate code is within 2^-11 of its meaning, and right in kind at special values") {
  constexpr double kUnits = 0x1p-11 / 0x1p-23;
  std::vector<std::vector<double>> specials;
  for (const double x : {0.0, -0.0, 1.0, -1.0, 88.0, -88.0, 200.0, -200.0, 3e38, -3e38, kInfinity, -kInfinity,
                         std::nan(""), 0x1p-149, -0x1p-127}) {
    specials.push_back({x});
  }
  for (const char* name : {"exp", "expm1", "tanh", "sigmoid", "erf"}) {
    const Op& op = *find_op(name);
    std::mt19937 random(7);
    std::vector<std::vector<double>> cases = specials;
    for (int i = 0; i < 20000; ++i) cases.push_back(sample(op, NumClass::Real, random));
    double worst = 0;
    std::string where;
    for (const auto& args : cases) {
      const double want = static_cast<float>(apply_op(op, args, NumClass::Real));
      const double got = emitted(op, args, NumClass::Real, NumClass::Real, 2, nullptr, true);
      const double units = std::fabs(want) < 0x1p-126 && got == 0 ? 0 : error_units(got, want);
      if (units > worst) worst = units, where = show(args);
    }
    INFO(name << ": " << worst << " units at " << where);
    CHECK(worst <= kUnits + 2);
  }
  // Far below zero a sigmoid keeps its digits.
  const double tail =
      emitted(*find_op("sigmoid"), std::vector<double>{-30}, NumClass::Real, NumClass::Real, 2, nullptr, true);
  CHECK(tail == Approx(std::exp(-30.0)).epsilon(1e-4));
}

TEST_CASE("an op's code agrees with its meaning at special values") {
  const float specials[] = {0.0,   -0.0,     1,         -1,       0.5,      -0.5,      2,          -2,
                            3,     -3,       2.5,       -2.5,     1e-3,     100,       -100,       3e38,
                            -3e38, 0x1p-149, -0x1p-149, 0x1p-127, 0x1p-126, HUGE_VALF, -HUGE_VALF, NAN};
  for (const Op* op : op_table()) {
    for (const auto& [num_class, result] : classes(*op)) {
      if (num_class != NumClass::Real) continue;
      std::vector<std::vector<double>> cases;
      for (const float x : specials) {
        if (op->arity == 1) cases.push_back({x});
        for (const float y : specials) {
          if (op->arity == 2) cases.push_back({x, y});
          if (op->arity == 3) cases.insert(cases.end(), {{0, x, y}, {1, x, y}});
        }
      }
      for (const auto& args : cases) {
        const bool is_division = op->name == "mod" || op->name == "floordiv";
        if (is_division && std::fabs(args[0] / args[1]) > 0x1p22 && std::isfinite(args[0]) && args[1] != 0) continue;
        const double want = static_cast<float>(apply_op(*op, args, result));
        const double got = emitted(*op, args, num_class, result);
        INFO(op->name << "(" << show(args) << ") = " << got << ", meant " << want);
        // Results near the ends of f32 may fall on either side; nearer ones by the stated error.
        const bool at_the_end = std::fabs(want) > 3e38 && std::fabs(got) > 3e38 && !std::isnan(got);
        CHECK((at_the_end || error_units(got, want) <= op->ulp + 0.5));
      }
    }
  }
  // Signs of zero that functions keep.
  for (const char* name :
       {"neg", "abs", "sign", "floor", "ceil", "trunc", "round", "sqrt", "expm1", "log1p", "tanh", "erf", "sin"}) {
    for (const double zero : {0.0, -0.0}) {
      const std::vector<double> args = {zero};
      INFO(name << " of " << zero);
      const double got = emitted(*find_op(name), args, NumClass::Real, NumClass::Real);
      CHECK(got == 0);
      const bool meant_negative = std::signbit(find_op(name)->eval(args));
      CHECK(std::signbit(got) == meant_negative);
    }
  }
}

TEST_CASE("whole division never traps, and by zero gives zero in meaning and code") {
  const double most = -9223372036854775808.0;
  for (const char* name : {"floordiv", "mod"}) {
    const Op& op = *find_op(name);
    for (const double x : {7.0, -7.0, 0.0, most}) {
      for (const double y : {0.0, -1.0, 1.0, 2.0, -2.0}) {
        const std::vector<double> args = {x, y};
        int traps = 0;
        const double got = emitted(op, args, NumClass::Int, NumClass::Int, 0, &traps);
        INFO(name << " " << x << " " << y);
        CHECK(traps == 0);
        if (x == most && y == -1 && op.name == "floordiv") continue;  // wraps, as i64 does
        CHECK(got == apply_op(op, args, NumClass::Int));
      }
    }
    const double by_zero[] = {7, 0};
    CHECK(apply_op(op, by_zero, NumClass::Int) == 0);
  }
}

TEST_CASE("pow has IEEE's special cases at every whole and half exponent") {
  const Op& pow = *find_op("pow");
  double worst = 0;
  for (double x = -20; x <= 20; x += 0.4375) {
    for (double y = -16; y <= 16; y += 0.5) {
      const std::vector<double> args = {x, y};
      const double want = pow.eval(args);
      if (std::fabs(want) > 3e38 || std::fabs(want) < 1.2e-38) continue;
      const double units = error_units(emitted(pow, args, NumClass::Real, NumClass::Real, 2), want);
      INFO(x << " ** " << y);
      REQUIRE(units <= pow.ulp);
      worst = std::max(worst, units);
    }
  }
  CHECK(worst > 0);  // it did compute something inexact
}

TEST_CASE("argument classes are brought together as the rules say") {
  Graph g;
  const NodeId real = g.input(0, {}, NumClass::Real, {}), integer = g.input(1, {}, NumClass::Int, {}),
               truth = g.input(2, {}, NumClass::Bool, {});
  auto result = [&](const char* name, std::vector<NodeId> args) { return g[g.apply(find_op(name), args)].num_class; };
  CHECK(result("exp", {integer}) == NumClass::Real);
  CHECK(result("div", {integer, integer}) == NumClass::Real);
  CHECK(result("max", {integer, integer}) == NumClass::Int);
  CHECK(result("max", {integer, real}) == NumClass::Real);
  CHECK(result("lt", {integer, real}) == NumClass::Bool);
  CHECK(result("select", {truth, integer, integer}) == NumClass::Int);
  CHECK(result("select", {truth, integer, real}) == NumClass::Real);
  CHECK(result("select", {truth, truth, truth}) == NumClass::Bool);
  CHECK(result("to_int", {real}) == NumClass::Int);
  CHECK(result("to_real", {truth}) == NumClass::Real);
  CHECK(result("and", {truth, truth}) == NumClass::Bool);
  const NodeId not_bool[] = {real, truth};
  CHECK(class_error(g, *find_op("and"), not_bool) != nullptr);
  const NodeId bad_condition[] = {real, real, real};
  CHECK(class_error(g, *find_op("select"), bad_condition) != nullptr);
  CHECK(g[g.contract({integer, integer}, {})].num_class == NumClass::Int);
  CHECK(g[g.contract({integer, real}, {})].num_class == NumClass::Real);
  CHECK(g[g.contract({truth, truth}, {})].num_class == NumClass::Real);
  CHECK(g[g.sum({integer, integer}, {1, -2})].num_class == NumClass::Int);
  CHECK(g[g.sum({integer, integer}, {1, 0.5})].num_class == NumClass::Real);
}
