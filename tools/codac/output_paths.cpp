#include "tools/codac/output_paths.h"

#include <sys/stat.h>

#include "runtime/format/output_file.h"

namespace coda {
namespace {

/// Two things may go to one pipe or device, one after the other.
bool is_stream(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode);
}

}  // namespace

Status check_outputs(const std::vector<NamedPath>& outputs, const std::vector<NamedPath>& inputs) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const NamedPath& output = outputs[i];
    const auto clash = [&](const std::string& what) {
      return Status(Code::InvalidArgument, output.option + " would overwrite '" + output.path + "', " + what);
    };
    for (const NamedPath& input : inputs) {
      if (same_file(output.path, input.path)) return clash("which " + input.option + " reads");
    }
    for (size_t other = 0; other < i && !is_stream(output.path); ++other) {
      if (same_file(output.path, outputs[other].path)) return clash("which " + outputs[other].option + " writes");
    }
    if (Status status = check_output(output.path); !status.ok()) return status.with_context(output.option);
  }
  return {};
}

}  // namespace coda
