// The text form of a program's tensor IR: one line a node, in order of ids. What is written can be read back; spans are
// not written.
//
//   kernel gate_up
//   param x : bf16 [M, K] in
//   bound Hkv = 8
//   fact (D) % (64) = (0)
//   %0 = input 0 Real [K, M]
//   %2 = contract (%0, %1) over [K]
//   %3 = view %2 [2*F] at (F; F : 1)
//   output 3 = %3
#pragma once

#include <string>
#include <string_view>

#include "coda/status.h"
#include "compiler/ir/graph.h"

namespace coda {

std::string to_text(const Program& program);
/// One node without its number, e.g. "contract (%0, %1) over [K]".
std::string to_text(const Node& node);
/// A dimension: its name, and "=extent" where that is spelled otherwise.
std::string to_text(const NamedDim& dim);
std::string to_text(const AffineMap& map);

/// Nodes may be numbered freely, as long as arguments come first. What would break the graph's rules is refused with
/// the line and the reason.
Expected<Program> program_from_text(std::string_view text);

}  // namespace coda
