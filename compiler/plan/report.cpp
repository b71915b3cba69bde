#include "compiler/plan/report.h"

#include <algorithm>
#include <cstdio>
#include <set>

#include "compiler/print/print.h"
#include "compiler/rewrite/sizes.h"
#include "dsl/source.h"

namespace coda {

std::vector<std::string> requirements(const Plan& plan) {
  std::vector<std::string> all;
  for (const DimFact& fact : plan.facts) {
    const std::string modulus = fact.modulus ? " % " + fact.modulus->text() : "";
    all.push_back(fact.left.text() + modulus + " " + std::string(fact.relation) + " " + fact.right.text());
  }
  return all;
}

Bindings sizes_of(const Plan& plan, const PlanContext& context) {
  Bindings sizes = context.options.sizes;
  for (const PlanKernel& kernel : plan.kernels) sizes.insert(kernel.program.bound.begin(), kernel.program.bound.end());
  return sizes;
}

std::vector<std::string> assumed_symbols(const Plan& plan, const PlanContext& context) {
  const Bindings sizes = sizes_of(plan, context);
  std::vector<std::string> assumed;
  for (const PlanTensor& tensor : plan.tensors) {
    for (const NamedDim& dim : tensor.dims) {
      for (const std::string& symbol : dim.extent.symbols()) {
        const bool known = sizes.contains(symbol) || std::find(assumed.begin(), assumed.end(), symbol) != assumed.end();
        if (!known) assumed.push_back(symbol);
      }
    }
  }
  return assumed;
}

std::string sizes_text(const Plan& plan, const PlanContext& context) {
  std::set<std::string> used;
  for (const PlanTensor& tensor : plan.tensors) {
    for (const NamedDim& dim : tensor.dims) used.merge(dim.extent.symbols());
  }
  std::string text;
  for (const auto& [symbol, value] : sizes_of(plan, context)) {
    if (used.contains(symbol)) text += (text.empty() ? "" : ", ") + symbol + " = " + std::to_string(value);
  }
  std::string names;
  for (const std::string& symbol : assumed_symbols(plan, context)) names += (names.empty() ? "" : ", ") + symbol;
  if (names.empty()) return text;
  return text + (text.empty() ? "" : "; ") + "taken as " + std::to_string(kAssumedSize) +
         " for want of --dim: " + names;
}

Roofline roofline(double bytes, double flops, const MachineModel& machine) {
  return {bytes / machine.bytes_per_second, flops / machine.flops_per_second};
}

const char* kind_name(KernelKind kind) {
  constexpr const char* kNames[] = {"gemm", "row-wise", "once", "external"};
  return kNames[static_cast<size_t>(kind)];
}

std::string tensor_text(const std::string& name, DType dtype, const std::vector<NamedDim>& dims) {
  std::string text;
  for (const auto& dim : dims) {
    const std::string called = dim.name.substr(0, dim.name.find('#')), extent = dim.extent.text();
    text += (text.empty() ? "[" : ", ") + extent + (called == extent ? "" : " as " + called);
  }
  return name + ": " + std::string(info(dtype).name) + text + (text.empty() ? "" : "]");
}

std::string bytes_text(double bytes) {
  constexpr struct {
    double least, unit;
    const char* format;
  } kForms[] = {{1e10, 1e9, "%.1f GB"}, {1e8, 1e6, "%.0f MB"}, {1e5, 1e6, "%.1f MB"}, {1e3, 1e3, "%.1f kB"}};
  char text[32];
  for (const auto& form : kForms) {
    if (bytes < form.least) continue;
    std::snprintf(text, sizeof text, form.format, bytes / form.unit);
    return text;
  }
  std::snprintf(text, sizeof text, "%.0f B", bytes);
  return text;
}

std::vector<std::string> statements_text(const PlanKernel& kernel) {
  return statements_of(kernel.program, "u");  // `t` and a number are tensors of the plan
}

int maker_of(const Plan& plan, int tensor) {
  for (size_t k = 0; k < plan.kernels.size(); ++k) {
    for (const auto& output : plan.kernels[k].program.outputs) {
      if (plan.kernels[k].arguments[static_cast<size_t>(output.param)] == tensor) return static_cast<int>(k);
    }
  }
  return -1;
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
