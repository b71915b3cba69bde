// The programs in the folders of examples/, as tests/codegen/examples.txt lists them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime/format/dim.h"

namespace coda::test {

struct Example {
  std::string file, text;
  Bindings bound, sizes;
  std::map<std::string, int64_t> multiples;  ///< dimensions that must be multiples of something
  bool is_block = false;
  bool loose = false;      ///< values are rounded inside: what f32 loses may show as a whole unit of the type
  bool host_only = false;  ///< the GPU's code generator refuses it so far
};
std::vector<Example> listed_examples();

}  // namespace coda::test
