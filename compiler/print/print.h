// From a Program back to text of the language: what `codac grad` shows. Any program that the front end, autodiff or the
// planner makes can be printed; the text compiles by itself and means the same.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/graph.h"

namespace coda {

/// One kernel or block in canonical layout. Values used more than once are named, by `value_names` where it has them.
std::string to_source(const Program& program);
/// Its statements alone, one or more lines each, without indentation; values without a name are called `stem`, `stem`2
/// …
std::vector<std::string> statements_of(const Program& program, const std::string& stem);

}  // namespace coda
