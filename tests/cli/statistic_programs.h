// Programs that compute one statistic of what they read, or of a product with something added, over each choice of
// dimensions; and a run of them beside the oracle.
#pragma once

#include <string>
#include <vector>

#include "runtime/format/dim.h"
#include "tests/cli/statistic_oracle.h"

namespace coda::testing {

enum class Over : uint8_t {
  Row,
  Column,
  Everything,
  Part,  ///< of the rows: T of [B, T, N]
  Group  ///< of 32 neighbours in a row
};
inline constexpr Over kOvers[] = {Over::Row, Over::Column, Over::Everything, Over::Part, Over::Group};

struct StatisticProgram {
  StatisticKind kind;
  Over over;
  bool of_product;
  std::string text() const;
  bool bounded() const { return kind.fed_back && of_product && over == Over::Row; }  ///< whole rows in a tile
  std::vector<Bindings> sizes() const;  ///< empty, single, ragged and aligned ones
};

/// Every one that has a meaning.
std::vector<StatisticProgram> statistic_programs();

/// Compiled once and run at all sizes with every kind of elements.
struct StatisticRuns {
  bool compiled = false;
  int64_t values = 0;  ///< compared
  std::string wrong;   ///< the first value that is, or why it isn't compiled; empty: all are right
};
StatisticRuns run_statistic(const StatisticProgram& program, const std::string& target);

}  // namespace coda::testing
