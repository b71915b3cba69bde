// Every reduction, built in and of one's own, over rows, columns, everything, parts of rows and groups, with and
// without a product, beside an oracle in long double: NaN, infinities, zeros of both signs, subnormals, offsets of
// ±1e4, nothing, one element, ragged and whole tiles.
#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>
#include <set>

#include "compiler/ops/op.h"
#include "tests/cli/statistic_programs.h"

namespace coda::testing {
namespace {

void run_all(const std::string& target) {
  const char* part = std::getenv("CODA_GPU_PART");
  const char* only = std::getenv("CODA_GPU_ONLY");
  unsigned mine = 0, parts = 1;
  if (part) REQUIRE(std::sscanf(part, "%u/%u", &mine, &parts) == 2);
  int64_t values = 0;
  int programs = 0;
  unsigned number = 0;
  for (const StatisticProgram& program : statistic_programs()) {
    if (number++ % parts != mine % parts) continue;
    if (only && program.kind.name != only) continue;
    INFO(program.text());
    const StatisticRuns runs = run_statistic(program, target);
    INFO(runs.wrong);
    CHECK(runs.wrong.empty());
    values += runs.values;
    ++programs;
  }
  std::printf("%d programs, %lld values right\n", programs, static_cast<long long>(values));
}

}  // namespace

TEST_CASE("statistics of every kind beside an oracle") { run_all("host"); }

TEST_CASE("statistics of every kind on a GPU", "[.gpu]") { run_all("sm_90a"); }

TEST_CASE("the oracle knows every reduction") {
  std::set<std::string> known;
  for (const StatisticKind& kind : statistic_kinds()) known.insert(kind.name);
  for (const Reduction* reduction : reduction_table()) {
    INFO(reduction->name);
    CHECK(known.contains(std::string(reduction->name)));
  }
}

}  // namespace coda::testing
