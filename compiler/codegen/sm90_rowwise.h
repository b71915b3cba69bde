// The Hopper back end of kernels without a product: rows are shared by groups of threads, a row's statistics are
// combined by shuffles and shared memory in a fixed order, and what fits in registers is read once. LLVM-free.
#pragma once

#include "compiler/codegen/sm90.h"

namespace coda {

/// Reports E04xx diagnostics and returns nothing where it can't be done. `options.columns` is the width of the widest
/// walk where it is known: it chooses how many threads share a row, never what is computed.
std::optional<Sm90Result> compile_sm90_rowwise(const EpilogueProgram& epilogue, const Sm90Options& options,
                                               Diagnostics& diagnostics);

}  // namespace coda
