// Reductions: meaning and code agree, however the elements are cut into partials, and logsumexp makes no NaN of its
// own.
#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <limits>
#include <random>
#include <sstream>

#include "compiler/ops/op.h"
#include "scalar_emitter.h"
#include "tests/source_root.h"

using namespace coda;
using namespace coda::test;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

/// Folds [0, cut) and [cut, n) apart, combines, finishes.
double meant(const Reduction& reduction, const std::vector<double>& xs, size_t cut) {
  double left[kMaxStateWords], right[kMaxStateWords];
  std::copy_n(reduction.identity, kMaxStateWords, left);
  std::copy_n(reduction.identity, kMaxStateWords, right);
  for (size_t i = 0; i < xs.size(); ++i) reduction.lift(&xs[i], i < cut ? left : right);
  reduction.combine(left, right);
  return reduction.finish(left, static_cast<double>(xs.size()));
}

double emitted(const Reduction& reduction, const std::vector<double>& xs, size_t cut) {
  ScalarEmitter e;
  Val left[kMaxStateWords], right[kMaxStateWords];
  for (int w = 0; w < kMaxStateWords; ++w) left[w] = right[w] = e.real(reduction.identity[w]);
  for (size_t i = 0; i < xs.size(); ++i) reduction.emit_lift(e, {{e.real(xs[i])}}, i < cut ? left : right);
  reduction.emit_combine(e, left, right);
  const Val result = reduction.emit_finish(e, left, e.real(static_cast<double>(xs.size())));
  return ScalarEmitter::value_of(result, reduction.result);
}

bool close(double got, double want, double tolerance) {
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) && std::isnan(got);
  if (std::isinf(want) || std::isinf(got)) return want == got;
  return std::fabs(got - want) <= tolerance * std::max(1.0, std::fabs(want));
}

}  // namespace

TEST_CASE("partials combine to the whole, in meaning and in code") {
  std::mt19937 random(11);
  for (const Reduction* reduction : reduction_table()) {
    for (int round = 0; round < 300; ++round) {
      std::vector<double> xs(random() % 12);
      for (double& x : xs) {
        x = static_cast<float>(std::uniform_real_distribution<double>(-3, 3)(random));
        if (random() % 5 == 0) x = 0;
        if (round % 3 == 0 && random() % 4 == 0)
          x = random() % 3 == 0 ? kNaN : random() % 2 == 0 ? kInfinity : -kInfinity;
      }
      const double whole = meant(*reduction, xs, xs.size());
      for (size_t cut = 0; cut <= xs.size(); ++cut) {
        INFO(reduction->name << " of " << xs.size() << " elements cut at " << cut << ": " << whole);
        REQUIRE(close(meant(*reduction, xs, cut), whole, 1e-13));
        REQUIRE(close(emitted(*reduction, xs, cut), whole, 1e-5));
      }
    }
  }
}

TEST_CASE("reductions of nothing are their identities") {
  auto of_nothing = [](const char* name) { return meant(*find_reduction(name), {}, 0); };
  CHECK(of_nothing("sum") == 0);
  CHECK(std::isnan(of_nothing("mean")));
  CHECK(of_nothing("max") == -kInfinity);
  CHECK(of_nothing("min") == kInfinity);
  CHECK(of_nothing("absmax") == 0);
  CHECK(of_nothing("prod") == 1);
  CHECK(of_nothing("logsumexp") == -kInfinity);
  CHECK(of_nothing("any") == 0);
  CHECK(of_nothing("all") == 1);
}

TEST_CASE("logsumexp agrees with an outside library at any offset") {
  const Reduction& lse = *find_reduction("logsumexp");
  std::ifstream file(source_root() + "/tests/ir/oracle/logsumexp.txt");
  int rows = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    std::vector<double> xs;
    for (std::string word; words >> word;) xs.push_back(std::strtod(word.c_str(), nullptr));
    const double want = xs.back();
    const auto count = static_cast<size_t>(xs.front());
    xs.erase(xs.begin());
    xs.pop_back();
    REQUIRE(xs.size() == count);
    CHECK(close(meant(lse, xs, count), want, 4e-16));
    CHECK(close(meant(lse, xs, count / 2), want, 4e-16));
    CHECK(std::fabs(emitted(lse, xs, count / 2) - want) <= 0x1p-22 * std::max(1.0, std::fabs(want)));
    ++rows;
  }
  CHECK(rows == 36);
}

TEST_CASE("logsumexp of infinite and undefined rows") {
  const Reduction& lse = *find_reduction("logsumexp");
  const std::vector<std::pair<std::vector<double>, double>> cases = {
      {{-kInfinity}, -kInfinity},
      {{-kInfinity, -kInfinity, -kInfinity}, -kInfinity},
      {{-kInfinity, 2}, 2},
      {{2, -kInfinity}, 2},
      {{kInfinity, 1}, kInfinity},
      {{1, kInfinity, kInfinity}, kInfinity},
      {{kInfinity, -kInfinity}, kInfinity},
      {{1, kNaN, 2}, kNaN},
      {{kNaN}, kNaN},
      {{kInfinity, kNaN}, kNaN},
      {{kNaN, kInfinity}, kNaN},
      {{kNaN, -kInfinity}, kNaN},
      {{1e4, 1e4}, 1e4 + std::log(2.0)},
      {{-1e4, -1e4}, -1e4 + std::log(2.0)},
      {{1e4, -1e4}, 1e4},
      {{3e38, -3e38}, 3e38},
  };
  for (const auto& [xs, want] : cases) {
    for (size_t cut = 0; cut <= xs.size(); ++cut) {
      INFO(xs[0] << " … of " << xs.size() << ", cut at " << cut);
      CHECK(close(meant(lse, xs, cut), want, 1e-15));
      CHECK(close(emitted(lse, xs, cut), want, 1e-6));
    }
  }
}
