// The op families, one file each; table.cpp puts them together.
#pragma once

#include "compiler/ops/op.h"

namespace coda {

std::span<const Op> unary_ops();
std::span<const Op> transcendental_ops();
std::span<const Op> binary_ops();
std::span<const Op> logic_ops();
std::span<const Op> random_ops();
std::span<const Op> convert_ops();
std::span<const Reduction> reductions();

}  // namespace coda
