// The text form of a combination: `{identity|steps|results|word}`, without spaces. Values are numbered: first the words
// of one state, then those of the other, then the steps.
//
//   {-inf;1e9|gt(0,2);select(4,0,2);select(4,1,3)|5;6|1}
#pragma once

#include <string>
#include <string_view>

#include "coda/status.h"
#include "compiler/ir/custom_reduction.h"

namespace coda {

std::string combine_to_text(const CombineProgram& program, int word);

struct ReadCombine {
  CombineProgram program;
  int word = 0;
};
Expected<ReadCombine> combine_from_text(std::string_view text);

}  // namespace coda
