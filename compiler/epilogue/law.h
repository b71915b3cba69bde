// The log of laws used while a program is lowered, for `explain`.
#pragma once

#include <string>
#include <vector>

#include "dsl/source.h"

namespace coda {

struct LawUse {
  std::string law;     ///< its name, "factor out"
  std::string detail;  ///< what it did here, as an equation
  Span span;
};

}  // namespace coda
