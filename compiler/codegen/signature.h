// How a program's parameters, facts and bound symbols stand in an image, whatever the target.
#pragma once

#include <string_view>

#include "compiler/ir/graph.h"
#include "runtime/format/signature.h"

namespace coda {

void describe_signature(const Program& program, std::string_view target, Signature& signature);

}  // namespace coda
