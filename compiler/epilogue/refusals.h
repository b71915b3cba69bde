// From what could not be done to a diagnostic that says where, why and what else to do.
#pragma once

#include "compiler/epilogue/regions.h"
#include "compiler/epilogue/unit.h"

namespace coda {

void refuse(Lowering& lowering, const Unit& unit, const LayoutFailure& failure);
void refuse(Lowering& lowering, const std::vector<Unit>& units, const CutFailure& failure);
/// A reduction wider than a tile inside a tile's value or a statistic's body.
void refuse_wide(Lowering& lowering, const Unit& unit, NodeId reduction);

}  // namespace coda
