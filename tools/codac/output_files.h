// Where a run's outputs go: read from the command line and checked before anything is computed.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tools/codac/output_paths.h"
#include "tools/codac/problem.h"
#include "tools/codac/tensor_files.h"

namespace coda {

class OutputFiles {
 public:
  /// "act=act.npy", each output once.
  static Expected<OutputFiles> read(const std::vector<std::string>& options);
  /// That the parameters have these outputs, that the formats hold their types, and that the files can be written
  /// without hurting what is read.
  Status check(const std::vector<Param>& params, const std::vector<NamedPath>& inputs) const;
  /// `results` by parameter.
  Status write(const std::vector<Param>& params, const std::vector<HostTensor>& results) const;

  bool empty() const { return paths_.empty(); }
  /// "y.npy, z.npy"
  std::string text() const;

 private:
  std::map<std::string, std::string> paths_;  ///< by parameter
};

}  // namespace coda
