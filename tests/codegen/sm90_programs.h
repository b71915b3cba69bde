// The programs that the Hopper back end is tested with, from text: the examples, the four layouts, and one of each
// further epilogue form.
#pragma once

#include <string>
#include <vector>

#include "compiler/epilogue/epilogue.h"

namespace coda::test {

struct Sm90Program {
  std::string name;
  std::string text;
  Bindings bound;
  bool ties = false;     ///< whole outputs show which way a tie fell: to be run on exact numbers
  int most_spilled = 0;  ///< where more bytes than others': in a schedule that the compiler's trials then pass over
};
std::vector<Sm90Program> sm90_programs();

/// Parsed, elaborated and lowered; the rendered diagnostics in `report` if that fails.
std::optional<EpilogueProgram> lower_text(const Sm90Program& program, std::string& report);

}  // namespace coda::test
