// Reductions that a program defines: words of state, their identity, and a combination of two states that is made of
// scalar arithmetic. Equal definitions are one record, which lives as long as the process; the record's name is the
// whole definition as text, so that a program's text form says what it means.
#pragma once

#include <string_view>
#include <vector>

#include "coda/status.h"
#include "compiler/ir/graph.h"

namespace coda {

/// Inputs 0, 1, … of the graph are the words of one state, then those of the other; they are scalars.
struct CombineProgram {
  std::vector<double> identity;  ///< one a word
  Graph graph;
  std::vector<NodeId> results;  ///< of class Real, one a word
};

/// The first thing in the combination that is no scalar arithmetic; kNoNode if it is well made.
NodeId foreign_node(const CombineProgram& program);

/// The reduction that combines by a well made `program` and gives word `word`.
const Reduction* custom_reduction(const CombineProgram& program, int word);

/// The reduction of that name. Names of custom reductions begin with `{`.
Expected<const Reduction*> custom_reduction_from_text(std::string_view name);

}  // namespace coda
