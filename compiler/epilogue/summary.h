// What one launch of a kernel reads, writes and computes, as expressions of the extents: for `explain` and cost models.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/epilogue/epilogue.h"

namespace coda {

struct KernelSummary {
  /// A tensor that is read or written, and how much of it: every byte counted once.
  struct Stream {
    int param = -1;
    std::string role;  ///< "operand", "index", "row vector", "column vector", "tile", "finish"
    Dim elements, bytes;
  };
  std::vector<Stream> loads, stores;
  Dim read_bytes, written_bytes;
  Dim columns;  ///< of the GEMM that are computed
  Dim flops;    ///< of the GEMM: 2 * rows * columns * depth; without one, the elements of all walks
  struct Finish {
    std::string statistic;  ///< "logsumexp over V of …"
    StatScope scope;
    std::vector<int> regions;
  };
  std::vector<Finish> statistics;
};

KernelSummary summarise(const EpilogueProgram& epilogue);

/// The summary, the regions and the laws as lines of text; with bindings also as numbers, where they are enough.
std::string to_text(const EpilogueProgram& epilogue, const KernelSummary& summary, const Bindings& bindings);

}  // namespace coda
