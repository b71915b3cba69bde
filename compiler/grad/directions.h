// Cuts a block that holds both directions into forward and backward, and decides what is kept between them.
#pragma once

#include "compiler/grad/gradient.h"

namespace coda {

/// `forward_nodes`: nodes below this id are the forward's. Every sum is taken in the forward only; of what the backward
/// uses, a minimum cut is kept, by bytes written and read, so that the rest is elementwise from there.
void cut_directions(const Program& source, NodeId forward_nodes, Gradient& gradient);

/// Cuts `gradient` again so that what is kept has no more than `bytes` at these sizes, outputs not counted: products
/// and statistics that the backward computes again instead, the largest first. Gives the bytes that are then kept, more
/// than were asked for where nothing more can be computed again.
double keep_at_most(const Program& source, double bytes, const Bindings& sizes, Gradient& gradient);

}  // namespace coda
