// What the records of ops and reductions claim for laws, on random arguments.
#include "compiler/ops/algebraic.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <random>

#include "../elaborate/compile.h"
#include "compiler/ir/custom_reduction.h"

namespace coda::test {

namespace {

constexpr int kSamples = 2000;

bool close(double a, double b) {
  return a == b || std::fabs(a - b) <= 1e-9 * std::max({1.0, std::fabs(a), std::fabs(b)});
}

struct Sampler {
  std::mt19937 random{11};
  double in(double low, double high) { return std::uniform_real_distribution<double>(low, high)(random); }
  std::vector<double> arguments(const Op& op) {
    std::vector<double> args;
    for (int i = 0; i < op.arity; ++i) {
      const bool condition = op.rule == ClassRule::Select && i == 0;
      args.push_back(condition ? std::floor(in(0, 2)) : in(op.domain_low, op.domain_high));
    }
    return args;
  }
};

}  // namespace

TEST_CASE("ops scale, invert and turn into logarithms as their records say") {
  Sampler sample;
  int claims = 0;
  for (const Op* op : op_table()) {
    const Algebraic& claim = algebraic(*op);
    INFO(op->name);
    claims += claim.slope != 0 || !claim.inverse.empty() || !claim.logarithm.empty() || claim.scaled != 0;
    for (int i = 0; i < kSamples; ++i) {
      const auto args = sample.arguments(*op);
      const double value = op->eval(args), r = sample.in(0.1, 3);
      if (claim.slope != 0) CHECK(close(value, claim.slope * args[0]));
      if (!claim.inverse.empty()) {
        const double inverse = find_op(claim.inverse)->eval(std::vector<double>{args[1]});
        CHECK(close(value, args[0] * inverse));
      }
      if (!claim.logarithm.empty()) {
        const double x = std::clamp(args[0], -20.0, 20.0), log = find_op(claim.logarithm)->eval(std::vector<double>{r});
        CHECK(close(op->eval(std::vector<double>{x}) / r, op->eval(std::vector<double>{x - log})));
      }
      if (claim.scaled != 0) {
        auto scaled = args;
        for (int j = 0; j < op->arity; ++j) scaled[static_cast<size_t>(j)] *= (claim.scaled >> j & 1) != 0 ? r : 1;
        CHECK(close(op->eval(scaled), std::pow(r, claim.degree) * value));
      }
    }
  }
  CHECK(claims >= 15);
}

TEST_CASE("results have the signs that the records say") {
  Sampler sample;
  for (const Op* op : op_table()) {
    const Algebraic& claim = algebraic(*op);
    INFO(op->name);
    if (claim.sign == SignRule::Unknown) continue;
    for (int i = 0; i < kSamples; ++i) {
      auto args = sample.arguments(*op);
      bool all_positive = true, any_positive = false;
      for (int j = 0; j < op->arity; ++j) {
        if ((claim.signed_by >> j & 1) == 0) continue;
        double& arg = args[static_cast<size_t>(j)];
        if (claim.sign == SignRule::LikeAll) arg = std::fabs(arg) + 1e-3;
        all_positive = all_positive && arg > 0;
        any_positive = any_positive || arg > 0;
      }
      const double value = op->eval(args);
      if (claim.sign == SignRule::NonNegative) CHECK(value >= 0);
      if (claim.sign == SignRule::Positive) CHECK(value > 0);
      if (claim.sign == SignRule::LikeAll && all_positive) CHECK(value > 0);
      if (claim.sign == SignRule::LikeAny && any_positive) CHECK(value > 0);
    }
  }
}

TEST_CASE("reductions scale and keep signs as their records say") {
  Sampler sample;
  const auto reduce = [](const Reduction& reduction, const std::vector<double>& elements) {
    std::vector<double> state(static_cast<size_t>(reduction.state_size));
    for (size_t w = 0; w < state.size(); ++w) state[w] = reduction.identity[w];
    for (const double x : elements) reduction.lift(&x, state.data());
    return reduction.finish(state.data(), static_cast<double>(elements.size()));
  };
  for (const Reduction* reduction : reduction_table()) {
    INFO(reduction->name);
    const Algebraic& claim = algebraic(*reduction);
    for (int i = 0; i < 200; ++i) {
      std::vector<double> elements, scaled, positive;
      const double r = sample.in(0.1, 3);
      for (int n = 0; n < 5; ++n) {
        elements.push_back(sample.in(-2, 2));
        scaled.push_back(r * elements.back());
        positive.push_back(std::fabs(elements.back()) + 1e-3);
      }
      const double value = reduce(*reduction, elements);
      if (claim.degree != 0) CHECK(close(reduce(*reduction, scaled), std::pow(r, claim.degree) * value));
      const bool any = std::any_of(elements.begin(), elements.end(), [](double x) { return x > 0; });
      if (claim.sign == SignRule::NonNegative) CHECK(value >= 0);
      if (claim.sign == SignRule::LikeAny && any) CHECK(value > 0);
      if (claim.sign == SignRule::LikeAll) CHECK(reduce(*reduction, positive) > 0);
    }
  }
}

TEST_CASE("squares about the mean are those of the prelude, far from zero too, in any grouping") {
  const auto squares = custom_reduction_from_text(kCentredSquares);
  REQUIRE(squares.ok());
  const Compiled compiled = compile("kernel f(x: f32[M, N]) -> (v: f32[M]) {\n  v = variance(x, over = N)\n}\n");
  REQUIRE(compiled.program);
  bool same = false;
  for (NodeId id = 0; id < compiled.program->graph.size(); ++id) {
    same = same || compiled.program->graph[id].reduction == *squares;
  }
  CHECK(same);

  Sampler sample;
  const Reduction& reduction = **squares;
  REQUIRE(algebraic(reduction).sign == SignRule::NonNegative);
  for (const double offset : {0.0, 1.0, -1e4, 1e4, 1e8}) {
    double states[2][3] = {}, mean = 0, exact = 0;
    std::vector<double> elements;
    for (int n = 0; n < 101; ++n) elements.push_back(offset + sample.in(-2, 2));
    const auto cut = static_cast<size_t>(sample.in(0, 101));  // of two groups, one may be empty
    for (size_t n = 0; n < elements.size(); ++n) {
      const double lifted[3] = {1, elements[n], 0};
      reduction.lift(lifted, states[n < cut ? 0 : 1]);
      mean += elements[n] / 101;
    }
    for (const double x : elements) exact += (x - mean) * (x - mean);
    reduction.combine(states[0], states[1]);
    CHECK(reduction.finish(states[0], 101) == Approx(exact).epsilon(1e-7));
    CHECK(reduction.finish(states[0], 101) >= 0);
  }
}

}  // namespace coda::test
