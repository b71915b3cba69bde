// What PTX can do before it has waited for the kernels in front of it: a walk over the control flow of a kernel's text,
// from its entry to the first `griddepcontrol.wait` of every path.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace coda::test {

struct PtxPrefix {
  std::vector<std::string> touches;  ///< instructions that read or write global memory, but for bulk copies
  std::set<int> maps;                ///< numbers of the tensor maps that bulk copies use
  int waits = 0;                     ///< waits that are reached first
  int allows = 0;                    ///< in all of the text: permissions to the next kernel
  std::string unknown;               ///< what the walk did not understand
};
PtxPrefix ptx_before_wait(const std::string& ptx);

}  // namespace coda::test
