// Each op and reduction record against finite differences, found by the tables: a new record is tested without a word
// here, and one without a derivative fails.
#include <catch2/catch.hpp>
#include <cmath>

#include "numeric.h"

namespace coda::test {

namespace {

bool is_numeric(const Op& op) {
  return op.rule == ClassRule::Real || op.rule == ClassRule::Same || op.rule == ClassRule::Select ||
         op.rule == ClassRule::ToReal;
}

/// Points of the domain, inside [-3, 3], where the op is smooth around: slopes to both sides agree.
std::vector<std::vector<double>> smooth_points(const Op& op) {
  constexpr double kNear = 0x1p-7;
  const double low = std::max(op.domain_low, -3.0) + 2 * kNear, high = std::min(op.domain_high, 3.0) - 2 * kNear;
  const size_t reals = op.rule == ClassRule::Select ? 2 : static_cast<size_t>(op.arity);
  std::vector<std::vector<double>> points;
  for (int i = 0; i < 60; ++i) {
    std::vector<double> x;
    for (size_t k = 0; k < reals; ++k) {
      const double share = std::fmod((i + 1) * (k == 0 ? 0.6180339887 : 0.7548776662), 1.0);
      x.push_back(std::round((low + share * (high - low)) * 64) / 64);
    }
    if (op.rule == ClassRule::Select) x.insert(x.begin(), i % 2);
    bool smooth = true;
    for (size_t k = x.size() - reals; k < x.size(); ++k) {
      auto at = [&](double step) {
        std::vector<double> moved = x;
        moved[k] += step;
        return op.eval(moved);
      };
      const double right = (at(kNear) - at(0)) / kNear, left = (at(0) - at(-kNear)) / kNear;
      const double closer = (at(kNear / 4) - at(0)) / (kNear / 4);  // a jump is steeper there
      for (const double other : {left, closer}) {
        smooth = smooth && std::isfinite(right) && std::isfinite(other) &&
                 std::fabs(right - other) <= 0.1 * (0.1 + std::fabs(right) + std::fabs(other));
      }
    }
    if (smooth) points.push_back(x);
  }
  return points;
}

}  // namespace

TEST_CASE("every op of real numbers has its derivative, as finite differences find it") {
  for (const Op* op : op_table()) {
    INFO(op->name);
    if (!is_numeric(*op)) {
      for (const auto grad : op->grad) CHECK(grad.empty());
      continue;
    }
    const auto points = smooth_points(*op);
    REQUIRE(points.size() >= 15);
    const bool selects = op->rule == ClassRule::Select;
    std::string arguments, parameters;
    Arrays values;
    std::vector<Wrt> wrt;
    for (int k = 0; k < op->arity; ++k) {
      const std::string name = selects ? std::string(1, "cxy"[k]) : std::string(1, "xy"[k]);
      arguments += (k > 0 ? ", " : "") + name;
      parameters += (k > 0 ? ", " : "") + name + (selects && k == 0 ? ": bool[N]" : ": f32[N]");
      for (const auto& point : points) values[name].push_back(point[static_cast<size_t>(k)]);
      if (selects && k == 0) {
        CHECK(op->grad[k].empty());
        continue;
      }
      CHECK_FALSE(op->grad[k].empty());
      wrt.push_back({.parameter = name});
    }
    const std::string text =
        "block b(" + parameters + ") -> (z: f32[N]) {\n    z = " + std::string(op->name) + "(" + arguments + ")\n}\n";
    for (size_t i = 0; i < points.size(); ++i) values["d_z"].push_back(1 + static_cast<double>(i % 5) / 4);
    const auto n = static_cast<int64_t>(points.size());
    const Program program = program_of(text);
    const Arrays derived = run(gradient_of(program, wrt).whole, {{"N", n}}, values);
    for (const Wrt& target : wrt) {
      const size_t k = static_cast<size_t>(&target - wrt.data()) + (selects ? 1 : 0);
      for (size_t i = 0; i < points.size(); ++i) {
        constexpr double kStep = 0x1p-11;
        auto at = [&](double step) {
          std::vector<double> moved = points[i];
          moved[k] += step;
          return op->eval(moved);
        };
        const double slope = (8 * (at(kStep) - at(-kStep)) - (at(2 * kStep) - at(-2 * kStep))) / (12 * kStep);
        const double want = slope * values["d_z"][i];
        INFO(target.parameter << " at " << points[i][k]);
        CHECK(std::fabs(derived.at("d_" + target.parameter)[i] - want) <= 1e-7 * (1 + std::fabs(want)));
      }
    }
  }
}

TEST_CASE("every reduction of real numbers has its derivative, as finite differences find it") {
  for (const Reduction* reduction : reduction_table()) {
    INFO(reduction->name);
    if (reduction->result != NumClass::Real) {
      CHECK(reduction->grad.empty());
      continue;
    }
    CHECK_FALSE(reduction->grad.empty());
    for (const std::string over : {"N", "M", "(M, N)"}) {
      std::string dims = over == "N" ? "[M]" : over == "M" ? "[N]" : "";
      const std::string text = "block b(x: f32[M, N]) -> (z: f32" + dims +
                               ") {\n    z = " + std::string(reduction->name) + "(x, over = " + over + ")\n}\n";
      check_gradient(program_of(text), {{"M", 3}, {"N", 5}}, 1);
      check_gradient(program_of(text), {{"M", 1}, {"N", 1}}, 2);
    }
  }
}

TEST_CASE("the gradient of an extreme goes to the first of equals, dimension by dimension") {
  const std::string text = "block b(x: f32[M, N]) -> (z: f32) {\n    z = max(x, over = (M, N))\n}\n";
  const Gradient gradient = gradient_of(program_of(text));
  const Arrays values{{"x", {1, 2, 1, 0, 2, 2}}, {"d_z", {3}}};
  CHECK(run(gradient.whole, {{"M", 2}, {"N", 3}}, values).at("d_x") == std::vector<double>{0, 3, 0, 0, 0, 0});
  const std::string rows = "block b(x: f32[M, N]) -> (z: f32[M]) {\n    z = absmax(x, over = N)\n}\n";
  const Arrays more{{"x", {1, -2, 2, 0, 0, 0}}, {"d_z", {3, 5}}};
  CHECK(run(gradient_of(program_of(rows)).whole, {{"M", 2}, {"N", 3}}, more).at("d_x") ==
        std::vector<double>{0, -3, 0, 0, 0, 0});
  const std::string both = "block b(x: f32[N], y: f32[N]) -> (z: f32[N]) {\n    z = max(x, y)\n}\n";
  const Arrays tie{{"x", {1, 1}}, {"y", {1, 2}}, {"d_z", {3, 5}}};
  const Arrays found = run(gradient_of(program_of(both)).whole, {{"N", 2}}, tie);
  CHECK(found.at("d_x") == std::vector<double>{3, 0});
  CHECK(found.at("d_y") == std::vector<double>{0, 5});
}

TEST_CASE("the gradient of a product is right where elements are zero") {
  const std::string text = "block b(x: f32[M, N]) -> (z: f32[M]) {\n    z = prod(x, over = N)\n}\n";
  const Arrays values{{"x", {2, 3, 0, 2, 0, 0, 2, 3, 4}}, {"d_z", {1, 1, 10}}};
  CHECK(run(gradient_of(program_of(text)).whole, {{"M", 3}, {"N", 3}}, values).at("d_x") ==
        std::vector<double>{0, 0, 6, 0, 0, 0, 120, 80, 60});
}

}  // namespace coda::test
