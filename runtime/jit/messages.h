// The compiler's diagnostics as the embedding interface gives them: with positions in place of spans.
#pragma once

#include <vector>

#include "coda/coda.h"
#include "dsl/diagnostics.h"

namespace coda {

/// Sorted by position.
std::vector<ProgramMessage> to_messages(const Diagnostics& diagnostics, const SourceMap& sources);

}  // namespace coda
