#include "tools/codac/launch_header.h"

#include <algorithm>
#include <cstdio>
#include <string_view>

#include "runtime/format/artefact.h"

namespace coda {

namespace {

constexpr std::string_view kReserved[] = {
    "alignas",     "alignof",   "and",        "and_eq",    "asm",      "auto",         "bitand",
    "bitor",       "bool",      "break",      "case",      "catch",    "char",         "char8_t",
    "char16_t",    "char32_t",  "class",      "compl",     "concept",  "const",        "consteval",
    "constexpr",   "constinit", "const_cast", "continue",  "co_await", "co_return",    "co_yield",
    "decltype",    "default",   "delete",     "do",        "double",   "dynamic_cast", "else",
    "enum",        "explicit",  "export",     "extern",    "false",    "float",        "for",
    "friend",      "goto",      "if",         "inline",    "int",      "long",         "mutable",
    "namespace",   "new",       "noexcept",   "not",       "not_eq",   "nullptr",      "operator",
    "or",          "or_eq",     "private",    "protected", "public",   "register",     "reinterpret_cast",
    "requires",    "return",    "short",      "signed",    "sizeof",   "static",       "static_assert",
    "static_cast", "struct",    "switch",     "template",  "this",     "thread_local", "throw",
    "true",        "try",       "typedef",    "typeid",    "typename", "union",        "unsigned",
    "using",       "virtual",   "void",       "volatile",  "wchar_t",  "while",        "xor",
    "xor_eq",      "coda",      "std"};

/// A name of the program as one of C++.
std::string cpp_name(const std::string& name) {
  return std::find(std::begin(kReserved), std::end(kReserved), name) == std::end(kReserved) ? name : name + "_";
}

std::string literal(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) out += c == '"' || c == '\\' ? std::string{'\\', c} : std::string{c};
  return out + "\"";
}

std::string shape_text(const ParamSpec& param) {
  std::string text(info(param.dtype).name);
  for (size_t axis = 0; axis < param.extents.size(); ++axis) {
    text += (axis ? ", " : "[") + param.extents[axis].text() + (axis + 1 == param.extents.size() ? "]" : "");
  }
  return text;
}

std::string member(const ParamSpec& param) {
  const std::string name = cpp_name(param.name);
  if (param.role != ParamSpec::Role::Scalar) {
    const char* written = param.role == ParamSpec::Role::Out ? ", written" : param.is_output() ? ", updated" : "";
    return "  coda::TensorView " + name + ";  ///< " + shape_text(param) + written + "\n";
  }
  const bool real = info(param.dtype).num_class == NumClass::Real;
  std::string type = real ? "double" : "int64_t", value;
  if (param.default_value)
    value = " = " + (real ? literal(*param.default_value) : std::to_string(static_cast<int64_t>(*param.default_value)));
  return "  " + type + " " + name + value + ";  ///< " + shape_text(param) + "\n";
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
  const std::string space = cpp_name(signature.name);
  std::string members, order;
  for (const ParamSpec& param : signature.params) {
    members += member(param);
    order += (order.empty() ? "a." : ", a.") + cpp_name(param.name);
  }
  const std::string array = "std::array<coda::Argument, " + std::to_string(signature.params.size()) + ">";
  return "// Typed launches of '" + signature.name + "'. Made by `codac build` from " + source +
         "; not to be edited.\n" +
         "#pragma once\n\n#include <array>\n#include <cstdint>\n#include <memory>\n#include <string>\n#include "
         "<utility>\n\n#include \"coda/coda.h\"\n\nnamespace " +
         space + " {\n\ninline constexpr const char* kInterface =\n    " + quoted(interface_text(signature)) +
         ";\n\n/// Shapes must agree wherever they name the same dimension; strides are free but for the last axis.\n"
         "struct Arguments {\n" +
         members + "};\n" + std::string(kKernelClass) + "  static " + array +
         " ordered(const Arguments& a) {\n    return {" + order +
         "};\n  }\n\n  std::unique_ptr<coda::Kernel> kernel_;\n};\n\n}  // namespace " + space + "\n";
}

}  // namespace coda
