// A plan as text: what each kernel reads, multiplies, reduces and writes, and what was weighed.
#include <cstdio>

#include "compiler/epilogue/describe.h"
#include "compiler/plan/plan.h"

namespace coda {

namespace {

constexpr const char* kKindNames[] = {"gemm", "row-wise", "once"};

std::string number(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string dims_text(const std::vector<NamedDim>& dims) {
  std::string text;
  for (const auto& dim : dims) text += (text.empty() ? "" : ", ") + dim.name;
  return "[" + text + "]";
}

}  // namespace

std::string to_text(const Plan& plan) {
  std::string text = "plan " + plan.name + ": " + std::to_string(plan.kernels.size()) + " kernels, " +
                     number("%.0f MB", plan.bytes / 1e6) + ", " + number("%.2f TFLOP", plan.flops / 1e12) + ", about " +
                     number("%.0f us", plan.seconds * 1e6) + " (" + std::to_string(plan.replans) + " plans weighed)\n";
  for (size_t k = 0; k < plan.kernels.size(); ++k) {
    const PlanKernel& kernel = plan.kernels[k];
    text += "K" + std::to_string(k) + " " + kKindNames[static_cast<size_t>(kernel.kind)] + ", " +
            number("%.0f MB", kernel.bytes / 1e6) + ", " + number("%.0f us", kernel.seconds * 1e6) + "\n";
    for (size_t p = 0; p < kernel.program.params.size(); ++p) {
      const Param& param = kernel.program.params[p];
      if (param.role == Param::Role::Out) continue;
      text += "  reads " + param.name + dims_text(param.dims) + "\n";
    }
    for (const auto& output : kernel.program.outputs) {
      const Param& param = kernel.program.params[static_cast<size_t>(output.param)];
      text += "  writes " + param.name + dims_text(param.dims) + " = " +
              describe(kernel.program, kernel.program.graph, output.value) + "\n";
    }
    for (const auto& wait : kernel.waits) text += "  own pass: it waits for " + wait + "\n";
  }
  for (const auto& decision : plan.decisions) {
    text += (decision.taken ? "taken: " : "refused: ") + decision.what + " (" +
            number("%.1f us", decision.seconds_if_taken * 1e6) + " if taken, " +
            number("%.1f us", decision.seconds_if_not * 1e6) + " if not)\n";
  }
  for (const auto& law : plan.laws) text += "law " + law.law + ": " + law.detail + "\n";
  return text;
}

}  // namespace coda
