// A kernel described for people.
#pragma once

#include <string>

#include "compiler/epilogue/epilogue.h"
#include "runtime/format/kernel_image.h"

namespace coda {

/// GEMM, regions, loads, stores, statistics, finish, FLOPs and bytes; as numbers where `dims` has the symbols.
std::string explain_kernel(const EpilogueProgram& epilogue, const Bindings& dims);
/// Tile, threads, registers, size of the code; `label` begins the line.
std::string explain_code(const std::string& label, const KernelImage& image);

/// "234.9 MB", "1.2 TFLOP"; `unit` is appended.
std::string with_prefix(double value, const std::string& unit);

}  // namespace coda
