// A unit is one value to be computed over columns: an output, the body of a statistic, or an output of the finish stage
// that has columns. Units are split until each lies on the columns in one way.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/epilogue/layout.h"
#include "compiler/epilogue/reads.h"
#include "compiler/epilogue/reindex.h"
#include "compiler/epilogue/roles.h"

namespace coda {

class Diagnostics;

struct Unit {
  enum class Use : uint8_t { Store, Statistic, ColumnFinish };
  Use use = Use::Store;
  int owner = -1;  ///< parameter of a store; index of the statistic
  NodeId value = kNoNode;
  std::vector<NamedDim> columns;  ///< the value's dimensions besides rows
  std::vector<AffineMap> index;   ///< stores: one an axis of the parameter
  std::string name;               ///< for messages
  Span span;
  Layout layout;
};

/// Everything that lowering steps share.
struct Lowering {
  const Program& source;
  Graph& graph;
  Reindexer& reindexer;
  const DimFacts& facts;
  const Roles& roles;
  UseCollector& collector;
  Diagnostics& diagnostics;
};

/// Is every element of the accumulator that `uses` reads in the element's own row, or, if rows are reduced over, in a
/// whole column? If not, it is reported for `unit`.
bool check_rows(Lowering& lowering, const Unit& unit, const Uses& uses, bool rows_reduced);

/// Splits `unit` at joins and short symbolic strides and lays each piece out; appends to `settled`. False after an
/// error was reported.
bool settle(Lowering& lowering, Unit unit, std::vector<Unit>& settled);

}  // namespace coda
