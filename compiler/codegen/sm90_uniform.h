// Values that are the same in the whole launch: expressions of scalars and extents, outside any tile.
#pragma once

#include <string>

#include "compiler/codegen/nvptx_numbers.h"
#include "compiler/codegen/sm90_context.h"

namespace coda {

/// F32. Sets `failure` where the node uses more than scalars and extents.
Val sm90_uniform_value(Sm90Context& context, NvptxNumbers& numbers, NodeId node, std::string& failure);

}  // namespace coda
