#include "compiler/plan/report.h"

#include <algorithm>

#include "compiler/rewrite/sizes.h"
#include "dsl/source.h"

namespace coda {

Bindings sizes_of(const Plan& plan, const PlanContext& context) {
  Bindings sizes = context.options.sizes;
  for (const PlanKernel& kernel : plan.kernels) sizes.insert(kernel.program.bound.begin(), kernel.program.bound.end());
  return sizes;
}

Roofline roofline(double bytes, double flops, const MachineModel& machine) {
  return {bytes / machine.bytes_per_second, flops / machine.flops_per_second};
}

const char* kind_name(KernelKind kind) {
  constexpr const char* kNames[] = {"gemm", "row-wise", "once", "external"};
  return kNames[static_cast<size_t>(kind)];
}

std::string tensor_text(const std::string& name, const std::vector<NamedDim>& dims) {
  if (dims.empty()) return name;
  std::string text;
  for (const auto& dim : dims) text += (text.empty() ? "" : ", ") + dim.name;
  return name + "[" + text + "]";
}

std::string place_text(const SourceMap& sources, Span span) {
  if (!span.valid()) return "";
  return sources.path(span.file) + ":" + std::to_string(sources.position(span.file, span.begin).line);
}

std::string line_text(const SourceMap& sources, Span span) {
  if (!span.valid()) return "";
  const std::string line(sources.line(span.file, sources.position(span.file, span.begin).line));
  const size_t first = line.find_first_not_of(" \t");
  return first == std::string::npos ? "" : line.substr(first, line.find_last_not_of(" \t\r") - first + 1);
}

std::string own_pass_text(const PlanKernel& kernel) {
  if (kernel.kind == KernelKind::Gemm) return "";
  if (kernel.kind == KernelKind::Once) return "reads constant parameters only: runs when they change";
  if (kernel.waits.empty()) return "touches no GEMM: no epilogue computes what it reads";
  std::string text = "waits for ";
  for (size_t i = 0; i < kernel.waits.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == kernel.waits.size() ? " and " : ", ") + kernel.waits[i];
  }
  return text + ", whole only after the kernel that makes what it is applied to";
}

double kept_bytes(const Plan& plan, const Bindings& sizes) {
  double most = 0;
  for (int k = 0; k < static_cast<int>(plan.kernels.size()); ++k) {
    double now = 0;
    for (const PlanTensor& tensor : plan.tensors) {
      if (tensor.param < 0 && tensor.first_use <= k && k <= tensor.last_use) now += tensor_bytes(tensor, sizes);
    }
    most = std::max(most, now);
  }
  return most;
}

double tensor_bytes(const PlanTensor& tensor, const Bindings& sizes) {
  return SizeHints(sizes).elements(tensor.dims) * info(tensor.dtype).bits / 8.0;
}

}  // namespace coda
