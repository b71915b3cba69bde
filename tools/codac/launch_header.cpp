#include "tools/codac/launch_header.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <vector>

#include "runtime/format/artefact.h"
#include "tools/codac/cpp_names.h"

namespace coda {

namespace {

bool is_param(const Signature& signature, const std::string& name) {
  return std::any_of(signature.params.begin(), signature.params.end(),
                     [&](const ParamSpec& param) { return param.name == name; });
}

/// The members' names, by parameter; one that another parameter has already gets an underscore too.
std::vector<std::string> member_names(const Signature& signature) {
  std::set<std::string> used;
  std::vector<std::string> names;
  for (const ParamSpec& param : signature.params) {
    std::string name = cpp_member(param.name, "Arguments");
    const bool renamed = name != param.name;
    while (used.count(name) > 0 || (renamed && is_param(signature, name))) name += "_";
    used.insert(name);
    names.push_back(name);
  }
  return names;
}

std::string member(const ParamSpec& param, const std::string& name) {
  if (param.role != ParamSpec::Role::Scalar) {
    const char* written = param.role == ParamSpec::Role::Out ? ", written" : param.is_output() ? ", updated" : "";
    return "  coda::TensorView " + name + ";  ///< " + type_text(param) + written + "\n";
  }
  const bool real = info(param.dtype).num_class == NumClass::Real;
  std::string type = real ? "double" : "int64_t", value;
  if (param.default_value)
    value =
        " = " + (real ? exact_text(*param.default_value) : std::to_string(static_cast<int64_t>(*param.default_value)));
  return "  " + type + " " + name + value + ";  ///< " + type_text(param) + "\n";
}

constexpr std::string_view kKernelClass = R"(
/// The artefact, ready on one device. Launches may come from several threads.
class Kernel {
 public:
  /// Fails for a file that was compiled from another interface than this header. `device`: a CUDA ordinal, or
  /// coda::kHostDevice. `given` binds symbols that no shape determines.
  static coda::Expected<Kernel> load(const std::string& path, int device, const coda::Bindings& given = {}) {
    auto artefact = coda::load_artefact(path);
    if (!artefact) return artefact.status();
    return prepare(*artefact, device, given);
  }
  static coda::Expected<Kernel> prepare(const coda::Artefact& artefact, int device, const coda::Bindings& given = {}) {
    const std::string found = coda::interface_text(artefact.signature());
    if (found != kInterface) {
      return coda::Status(coda::Code::InvalidArgument, "the artefact holds " + found + ", but this header is for " +
                                                           kInterface + "; build both from one source");
    }
    auto kernel = coda::prepare(artefact, device, given);
    if (!kernel) return kernel.status();
    return Kernel(std::move(*kernel));
  }

  /// On `stream`, a CUstream or cudaStream_t; on the host it has finished on return.
  coda::Status launch(const Arguments& arguments, void* stream = nullptr, coda::Workspace workspace = {}) const {
    return kernel_->launch(ordered(arguments), stream, workspace);
  }
  coda::Expected<int64_t> workspace_bytes(const Arguments& arguments) const {
    return kernel_->workspace_bytes(ordered(arguments));
  }
  coda::Kernel& untyped() const { return *kernel_; }

 private:
  explicit Kernel(std::unique_ptr<coda::Kernel> kernel) : kernel_(std::move(kernel)) {}

)";

}  // namespace

std::string launch_header(const Signature& signature, const std::string& source) {
  const std::string space = cpp_namespace(signature.name);
  std::string members, order;
  const std::vector<std::string> names = member_names(signature);
  for (size_t i = 0; i < names.size(); ++i) {
    members += member(signature.params[i], names[i]);
    order += (order.empty() ? "a." : ", a.") + names[i];
  }
  const std::string array = "std::array<coda::Argument, " + std::to_string(signature.params.size()) + ">";
  return "// Typed launches of '" + signature.name + "'. Made by `codac build` from " + cpp_comment(source) +
         "; not to be edited.\n" +
         "#pragma once\n\n#include <array>\n#include <cstdint>\n#include <memory>\n#include <string>\n#include "
         "<utility>\n\n#include \"coda/coda.h\"\n\nnamespace " +
         space + " {\n\ninline constexpr const char* kInterface =\n    " + cpp_string(interface_text(signature)) +
         ";\n\n/// Shapes must agree wherever they name the same dimension; strides are free but for the last axis.\n"
         "struct Arguments {\n" +
         members + "};\n" + std::string(kKernelClass) + "  static " + array +
         " ordered(const Arguments& a) {\n    return {" + order +
         "};\n  }\n\n  std::unique_ptr<coda::Kernel> kernel_;\n};\n\n}  // namespace " + space + "\n";
}

}  // namespace coda
