// Ways to write a contraction with a product that the program computes anyway.
#pragma once

#include "compiler/rewrite/context.h"

namespace coda {

/// `later`: with products that are computed after the one opened, instead of before it.
std::vector<NodeId> hits(LawContext& context, NodeId contraction, bool later);

}  // namespace coda
