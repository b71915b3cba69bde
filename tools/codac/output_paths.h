// What a command is going to write, checked before it computes anything.
#pragma once

#include <string>
#include <vector>

#include "coda/status.h"

namespace coda {

/// A file that the command line names, and by which option: {"--out y", "y.npy"}.
struct NamedPath {
  std::string option, path;
};

/// That each output can be written, and is neither a file that is read nor written twice.
Status check_outputs(const std::vector<NamedPath>& outputs, const std::vector<NamedPath>& inputs);

}  // namespace coda
