// The syntax tree as text (`--emit ast`): one line a node, children indented. Shows everything but source ranges, so
// two trees with the same dump mean the same.
#pragma once

#include <string>

#include "dsl/ast.h"

namespace coda {

std::string dump(const ast::Module& module);

}  // namespace coda
