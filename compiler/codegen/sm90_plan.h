// From a program and a schedule to the plan of one kernel: operand layouts, column orders, and the tensor maps that the
// launch encodes. LLVM-free.
#pragma once

#include <string>

#include "compiler/codegen/sm90_layout.h"
#include "runtime/format/kernel_image.h"

namespace coda {

/// The number of rows, M.
Dim sm90_rows(const EpilogueProgram& epilogue);
/// Whether rows of an operand are gathered: then no tensor map can bring it.
bool sm90_gathers(const EpilogueProgram& epilogue);
/// Fills plan and the image's tensor maps; what stands in the way if it can't be done.
std::string make_sm90_plan(const EpilogueProgram& epilogue, const Sm90Schedule& schedule, Sm90Plan& plan,
                           KernelImage& image);

}  // namespace coda
