#include "tools/codac/output_files.h"

#include "tools/codac/compile_options.h"

namespace coda {
namespace {

bool is_written(const Param& param) { return param.role == Param::Role::Out || param.role == Param::Role::InOut; }

}  // namespace

Expected<OutputFiles> OutputFiles::read(const std::vector<std::string>& options) {
  OutputFiles result;
  for (const std::string& text : options) {
    const auto parts = split_assignment(text);
    if (!parts) return Status(Code::InvalidArgument, "--out " + text + ": expected NAME=FILE");
    if (!result.paths_.emplace(*parts).second) {
      return Status(Code::InvalidArgument, "--out " + parts->first + " is given twice");
    }
  }
  return result;
}

Status OutputFiles::check(const std::vector<Param>& params, const std::vector<NamedPath>& inputs) const {
  std::vector<NamedPath> outputs;
  for (const auto& [name, path] : paths_) {
    const std::string option = "--out " + name;
    const Param* found = nullptr;
    std::string known;
    for (const Param& param : params) {
      if (!is_written(param)) continue;
      if (param.name == name) found = &param;
      known += (known.empty() ? "" : ", ") + param.name;
    }
    if (!found) return {Code::InvalidArgument, option + ": the kernel has no such output (there are: " + known + ")"};
    if (Status status = check_tensor_output(path, found->dtype); !status.ok()) return status.with_context(option);
    outputs.push_back({option, path});
  }
  return check_outputs(outputs, inputs);
}

Status OutputFiles::write(const std::vector<Param>& params, const std::vector<HostTensor>& results) const {
  for (size_t i = 0; i < params.size(); ++i) {
    const auto path = paths_.find(params[i].name);
    if (path == paths_.end()) continue;
    if (Status status = write_tensor(path->second, params[i].name, results[i]); !status.ok()) return status;
  }
  return {};
}

std::string OutputFiles::text() const {
  std::string text;
  for (const auto& [name, path] : paths_) text += (text.empty() ? "" : ", ") + path;
  return text;
}

}  // namespace coda
