// The finish stage: statistics wider than a tile, and outputs made of finished ones.
#pragma once

#include <vector>

#include "compiler/epilogue/epilogue.h"
#include "compiler/epilogue/regions.h"
#include "compiler/epilogue/unit.h"

namespace coda {

/// Adds a finish store of scope Row or All, and the statistics it needs; their bodies become units. `value` is in terms
/// of the GEMM's rows. False after an error was reported.
bool add_row_finish(Lowering& lowering, EpilogueProgram& out, FinishStore store, const Unit& about,
                    std::vector<Unit>& units);

/// Adds a finish store of scope Column for one piece of a settled unit, and its statistics.
bool add_column_finish(Lowering& lowering, EpilogueProgram& out, const Unit& unit, const RegionPiece& piece);

}  // namespace coda
