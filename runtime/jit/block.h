// Blocks: the plan of one, its kernels lowered and compiled, each by itself and in parallel, and the image they make.
#pragma once

#include <functional>
#include <optional>

#include "compiler/plan/plan.h"
#include "runtime/format/plan_image.h"
#include "runtime/jit/jit.h"

namespace coda {

/// Elaborates the block with these symbols bound; nothing if that fails.
using ElaborateBlock = std::function<std::optional<Program>(const Bindings& bound)>;

/// Plans the block for the request's sizes, lowers its kernels, generates their code, each in a thread of its own, and
/// makes the plan's image of them, as far as the request goes. Binds as few symbols as the kernels' structure needs:
/// none, else what the best plan needs, and to each kernel the one that cuts its columns least. A plan of which some
/// kernel can't be compiled makes way for the next best.
void compile_block(const CompileRequest& request, const ElaborateBlock& elaborate, Compilation& result);

}  // namespace coda
