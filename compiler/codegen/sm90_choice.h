// Which schedule a program is compiled with: the one that was asked for by name, else the best by estimate that the
// program's own `schedule` clause leaves legal.
#pragma once

#include <optional>

#include "compiler/codegen/sm90.h"

namespace coda {

/// Legal, and fitted to the program. Reports E0401 to E0404 and returns nothing where there is none.
std::optional<Sm90Schedule> settle_sm90_schedule(const EpilogueProgram& epilogue, const Sm90Options& options,
                                                 Diagnostics& diagnostics);

}  // namespace coda
