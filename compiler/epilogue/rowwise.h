// Kernels that multiply no two tensors: a pass over rows. Every statistic of a row is finished before the row's
// elements that need it; statistics over all rows are finished at the end.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "compiler/epilogue/epilogue.h"
#include "compiler/epilogue/reindex.h"

namespace coda {

class Diagnostics;

/// `values` are the normalised outputs, in the order of `program.outputs`, in the graph of `out`. Reports E034x and
/// returns false for what one launch can't do.
bool lower_rowwise(const Program& program, const std::vector<NodeId>& values, Reindexer& reindexer,
                   const DimFacts& facts, EpilogueProgram& out, Diagnostics& diagnostics);

/// Symbols of the extents by which columns of a pass over rows are taken apart.
std::set<std::string> column_divisors(const EpilogueProgram& epilogue);

}  // namespace coda
