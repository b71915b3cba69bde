// `grad` declarations: from the syntax to the blocks that they make.
#pragma once

#include <optional>

#include "compiler/elaborate/modules.h"
#include "compiler/grad/gradient.h"

namespace coda {

/// Both directions of `source`, the elaborated routine of the declaration. Nothing after a report.
std::optional<Gradient> elaborate_gradient(const Program& source, const ast::Grad& grad, Diagnostics& diagnostics);

}  // namespace coda
