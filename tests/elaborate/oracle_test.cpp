// The standard library beside values of a high-precision library (oracle/generate.py): activations far into their
// tails, softmax and losses of logits far from 0, norms of rows whose mean is large.
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "evaluate.h"
#include "tests/source_root.h"

namespace coda::test {
namespace {

struct OracleRow {
  std::vector<double> x, y;
};
struct OracleCall {
  std::string call;
  std::vector<OracleRow> rows;
};

std::vector<double> numbers(std::istringstream& line) {
  std::vector<double> values;
  for (std::string word; line >> word;) values.push_back(std::strtod(word.c_str(), nullptr));
  return values;
}

std::vector<OracleCall> oracle() {
  std::ifstream file(source_root() + "/tests/elaborate/oracle/prelude.txt");
  std::vector<OracleCall> calls;
  for (std::string text; std::getline(file, text);) {
    std::istringstream line(text);
    std::string kind;
    line >> kind;
    if (kind == "call") calls.push_back({text.substr(5), {}});
    if (kind == "x") calls.back().rows.push_back({numbers(line), {}});
    if (kind == "y") calls.back().rows.back().y = numbers(line);
  }
  return calls;
}

double largest(const std::vector<double>& values) {
  double most = 0;
  for (const double value : values) most = std::max(most, std::fabs(value));
  return most;
}

}  // namespace

TEST_CASE("prelude: as a high-precision library has it") {
  const std::vector<OracleCall> calls = oracle();
  REQUIRE(calls.size() > 30);
  for (const OracleCall& c : calls) {
    INFO(c.call);
    const auto columns = static_cast<int64_t>(c.rows[0].x.size()), results = static_cast<int64_t>(c.rows[0].y.size());
    std::vector<double> x;
    for (const OracleRow& row : c.rows) x.insert(x.end(), row.x.begin(), row.x.end());
    const Run run = evaluate("kernel f(x: f32[M, N]) -> (y: f32[M, " + std::string(results == columns ? "N" : "N/2") +
                                 "]) {\n    y = " + c.call + "\n}\n",
                             {{"M", static_cast<int64_t>(c.rows.size())}, {"N", columns}}, {{"x", x}});
    for (size_t m = 0; m < c.rows.size(); ++m) {
      // What f64 itself loses where large numbers cancel.
      const double lost = 1e-15 * largest(c.rows[m].x);
      for (int64_t n = 0; n < results; ++n) {
        const double expected = c.rows[m].y[static_cast<size_t>(n)];
        INFO("row " << m << ", element " << n << " of " << c.rows[m].x[0]);
        CHECK(run("y", {static_cast<int64_t>(m), n}) == Approx(expected).epsilon(1e-10).margin(4 * lost));
      }
    }
  }
}

}  // namespace coda::test
