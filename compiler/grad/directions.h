// Cuts a block that holds both directions into forward and backward, and decides what is kept between them.
#pragma once

#include "compiler/grad/gradient.h"

namespace coda {

/// `forward_nodes`: nodes below this id are the forward's. Every sum is taken in the forward only; of what the backward
/// uses, a minimum cut is kept, by bytes written and read, so that the rest is elementwise from there.
void cut_directions(const Program& source, NodeId forward_nodes, Gradient& gradient);

}  // namespace coda
