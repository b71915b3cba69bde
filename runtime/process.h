// Running another program without a shell.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "coda/status.h"

namespace coda {

struct ProcessResult {
  int exit_code = -1;  ///< 128 + signal if one ended it
  std::string output;  ///< stdout and stderr together
};

/// Runs `arguments[0]` (a path) with no input; kills it after `limit`.
Expected<ProcessResult> run_process(const std::vector<std::string>& arguments, std::chrono::seconds limit);

}  // namespace coda
